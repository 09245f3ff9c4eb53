use rmi::{Result, remote};

#[remote]
trait Account {
    async fn tag(&self, tags: Vec<&str>) -> Result<()>;
    async fn tag_all(&self, tags: &[&str]) -> Result<()>;
    async fn twice(&self, tag: &&str) -> Result<()>;
    async fn map(&self, tags: std::collections::HashMap<String, Option<&[u8]>>) -> Result<()>;
}

fn main() {}

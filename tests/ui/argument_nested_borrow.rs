use rmi::remote;

#[remote]
trait Account {
    async fn tag(&self, tags: Vec<&str>) -> rmi::Result<()>;
    async fn tag_all(&self, tags: &[&str]) -> rmi::Result<()>;
    async fn twice(&self, tag: &&str) -> rmi::Result<()>;
    async fn map(&self, tags: std::collections::HashMap<String, Option<&[u8]>>) -> rmi::Result<()>;
}

fn main() {}

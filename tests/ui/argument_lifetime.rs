use rmi::{Result, remote};

#[remote]
trait Account {
    async fn tag(&self, tag: &'static str) -> Result<()>;
    async fn maybe(&self, tag: std::borrow::Cow<'_, str>) -> Result<()>;
}

fn main() {}

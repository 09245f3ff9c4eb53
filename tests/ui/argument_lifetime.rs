use rmi::remote;

#[remote]
trait Account {
    async fn tag(&self, tag: &'static str) -> rmi::Result<()>;
    async fn maybe(&self, tag: std::borrow::Cow<'_, str>) -> rmi::Result<()>;
}

fn main() {}

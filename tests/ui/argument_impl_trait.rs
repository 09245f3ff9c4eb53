use rmi::remote;

#[remote]
trait Account {
    async fn name(&self, name: impl Into<String>) -> rmi::Result<()>;
}

fn main() {}

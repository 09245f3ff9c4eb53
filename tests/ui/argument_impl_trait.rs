use rmi::{Result, remote};

#[remote]
trait Account {
    async fn name(&self, name: impl Into<String>) -> Result<()>;
}

fn main() {}

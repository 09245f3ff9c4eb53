use rmi::{Result, remote};

#[remote]
trait Account {
    async fn name(&self) -> Result<&str>;
    async fn names(&self) -> Result<Vec<&'static str>>;
}

fn main() {}

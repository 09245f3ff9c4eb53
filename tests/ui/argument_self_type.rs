use rmi::{Result, remote};

#[remote]
trait Account {
    async fn merge(&self, other: Self) -> Result<()>;
    async fn split(&self) -> Result<Vec<Self>>;
}

fn main() {}

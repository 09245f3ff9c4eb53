use rmi::{Result, remote};

#[remote]
trait Account {
    async fn balance(&self) -> Result<i64>;
    async fn balance(&self) -> Result<i64>;
}

fn main() {}

use rmi::{Result, remote};

#[remote]
unsafe trait Account {
    async fn balance(&self) -> Result<i64>;
}

fn main() {}

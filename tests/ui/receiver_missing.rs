use rmi::{Result, remote};

#[remote]
trait Account {
    async fn open(name: String) -> Result<()>;
    async fn count() -> Result<u64>;
}

fn main() {}

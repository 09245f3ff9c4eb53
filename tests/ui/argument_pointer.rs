use rmi::{Result, remote};

#[remote]
trait Account {
    async fn map(&self, change: fn(i64) -> i64) -> Result<()>;
    async fn at(&self, address: *const u8) -> Result<()>;
}

fn main() {}

use rmi::{Result, remote};

#[remote]
trait Account {
    async fn balance(&self) -> Result<i64>;
    async fn close(&self) -> Result<()>;
}

struct Savings;

impl Account for Savings {
    async fn balance(&self, _extra: u8) -> Result<i64> {
        Ok(12)
    }
}

fn main() {}

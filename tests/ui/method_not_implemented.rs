use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
    async fn close(&self) -> rmi::Result<()>;
}

struct Savings;

impl Account for Savings {
    async fn balance(&self, _extra: u8) -> rmi::Result<i64> {
        Ok(12)
    }
}

fn main() {}

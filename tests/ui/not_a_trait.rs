use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
}

#[remote]
struct Savings;

#[remote]
impl Account for Savings {
    async fn balance(&self) -> rmi::Result<i64> {
        Ok(12)
    }
}

#[remote]
async fn open() -> rmi::Result<()> {
    Ok(())
}

#[remote]
mod bank {}

#[remote]
enum Currency {}

fn main() {}

use rmi::{Result, remote};

trait Audit {}

#[remote]
trait Account: Audit {
    async fn balance(&self) -> Result<i64>;
}

fn main() {}

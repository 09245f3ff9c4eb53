use rmi::{Result, remote};

#[remote]
trait Account {
    fn balance(&self) -> Result<i64>;
    fn later(&self) -> impl Future<Output = Result<i64>>;
}

fn main() {}

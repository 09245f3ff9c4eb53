use rmi::remote;

#[remote]
trait Account {
    fn balance(&self) -> rmi::Result<i64>;
    fn later(&self) -> impl Future<Output = rmi::Result<i64>>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
    async fn balance(&self) -> rmi::Result<i64>;
}

fn main() {}

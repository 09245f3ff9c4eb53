use rmi::remote;

#[remote]
trait Account {
    const async fn limit(&self) -> rmi::Result<u64>;
}

fn main() {}

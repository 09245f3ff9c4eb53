use rmi::remote;

#[remote]
trait Account {
    async fn open(name: String) -> rmi::Result<()>;
    async fn count() -> rmi::Result<u64>;
}

fn main() {}

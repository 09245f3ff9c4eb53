use rmi::remote;

#[remote]
trait Account {
    async fn name(&self) -> rmi::Result<&str>;
    async fn names(&self) -> rmi::Result<Vec<&'static str>>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn name(&self) -> rmi::Result<String>
    where
        Self: Clone;
}

fn main() {}

use rmi::{Result, remote};

#[remote]
trait Account {
    async fn name(&self) -> Result<String>
    where
        Self: Clone;
}

fn main() {}

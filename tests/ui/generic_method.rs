use rmi::{Result, remote};

#[remote]
trait Account {
    async fn put<T: serde::Serialize>(&self, value: T) -> Result<()>;
    async fn chunk<const N: usize>(&self, value: [u8; N]) -> Result<()>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn put<T: serde::Serialize>(&self, value: T) -> rmi::Result<()>;
    async fn chunk<const N: usize>(&self, value: [u8; N]) -> rmi::Result<()>;
}

fn main() {}

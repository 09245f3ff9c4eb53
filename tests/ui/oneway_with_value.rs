use rmi::{Result, remote};

#[remote]
trait Account {
    #[remote(oneway)]
    async fn note(&self, text: String) -> Result<u64>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    #[remote(oneway)]
    async fn note(&self, text: String) -> rmi::Result<u64>;
}

fn main() {}

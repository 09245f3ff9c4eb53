use rmi::remote;

type Answer = rmi::Result<u64>;

#[remote]
trait Account {
    #[remote(oneway)]
    async fn note(&self, text: String) -> Answer;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn fill(&self, entries: &mut Vec<u8>) -> rmi::Result<()>;
}

fn main() {}

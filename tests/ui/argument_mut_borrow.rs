use rmi::{Result, remote};

#[remote]
trait Account {
    async fn fill(&self, entries: &mut Vec<u8>) -> Result<()>;
}

fn main() {}

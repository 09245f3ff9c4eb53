use rmi::{Result, remote};

#[remote]
trait Account {
    async fn deposit(&mut self, cents: i64) -> Result<()>;
}

fn main() {}

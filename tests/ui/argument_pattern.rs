use rmi::{Result, remote};

#[remote]
trait Account {
    async fn move_to(&self, (x, y): (u8, u8)) -> Result<()>;
    async fn skip(&self, _: u8) -> Result<()>;
    async fn count(&self, mut n: u8) -> Result<()>;
}

fn main() {}

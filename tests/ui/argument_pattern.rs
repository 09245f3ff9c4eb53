use rmi::remote;

#[remote]
trait Account {
    async fn move_to(&self, (x, y): (u8, u8)) -> rmi::Result<()>;
    async fn skip(&self, _: u8) -> rmi::Result<()>;
    async fn count(&self, mut n: u8) -> rmi::Result<()>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn map(&self, change: fn(i64) -> i64) -> rmi::Result<()>;
    async fn at(&self, address: *const u8) -> rmi::Result<()>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn deposit(&mut self, cents: i64) -> rmi::Result<()>;
}

fn main() {}

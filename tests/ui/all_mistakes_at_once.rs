use rmi::remote;

#[remote]
trait Account {
    const LIMIT: i64;
    async fn deposit(&mut self, cents: &mut i64) -> i64;
    fn close<T>(self, reason: Option<&str>);
}

fn main() {}

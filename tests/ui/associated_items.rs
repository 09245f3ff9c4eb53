use rmi::remote;

#[remote]
trait Account {
    type Currency;
    const LIMIT: i64;
    make_methods!();
    async fn balance(&self) -> rmi::Result<i64>;
}

fn main() {}

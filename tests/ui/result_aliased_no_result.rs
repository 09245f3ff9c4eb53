use rmi::remote;

type Cents = i64;

#[remote]
trait Account {
    async fn balance(&self) -> Cents;
}

fn main() {}

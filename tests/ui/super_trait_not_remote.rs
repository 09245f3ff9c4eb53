use rmi::remote;

trait Audit {}

#[remote]
trait Account: Audit {
    async fn balance(&self) -> rmi::Result<i64>;
}

fn main() {}

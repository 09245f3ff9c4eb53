use rmi::remote;

#[remote]
trait Account
where
    Self: std::fmt::Debug,
{
    async fn balance(&self) -> rmi::Result<i64>;
}

fn main() {}

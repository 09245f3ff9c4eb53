use rmi::{Result, remote};

#[remote]
trait Account
where
    Self: std::fmt::Debug,
{
    async fn balance(&self) -> Result<i64>;
}

fn main() {}

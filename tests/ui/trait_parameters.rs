use rmi::{Result, remote};

#[remote]
trait Account<'a, const OPEN: bool, T> {
    async fn balance(&self) -> Result<T>;
}

fn main() {}

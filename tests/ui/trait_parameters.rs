use rmi::remote;

#[remote]
trait Account<'a, const OPEN: bool, T> {
    async fn balance(&self) -> rmi::Result<T>;
}

fn main() {}

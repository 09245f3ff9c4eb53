use rmi::remote;

#[remote]
trait Account {
    async fn m11034(&self) -> rmi::Result<()>;
    async fn m81192(&self) -> rmi::Result<()>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn merge(&self, other: Self) -> rmi::Result<()>;
    async fn split(&self) -> rmi::Result<Vec<Self>>;
}

fn main() {}

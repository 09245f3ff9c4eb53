use rmi::remote;

#[remote]
trait Account {
    async fn share(self: std::sync::Arc<Self>) -> rmi::Result<()>;
    async fn keep(&'static self) -> rmi::Result<()>;
}

fn main() {}

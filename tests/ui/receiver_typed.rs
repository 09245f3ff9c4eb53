use rmi::{Result, remote};

#[remote]
trait Account {
    async fn share(self: std::sync::Arc<Self>) -> Result<()>;
    async fn keep(&'static self) -> Result<()>;
}

fn main() {}

use rmi::{Result, remote};

#[remote]
trait Account {
    async fn close(self) -> Result<()>;
    async fn close_later(mut self) -> Result<()>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn close(self) -> rmi::Result<()>;
    async fn close_later(mut self) -> rmi::Result<()>;
}

fn main() {}

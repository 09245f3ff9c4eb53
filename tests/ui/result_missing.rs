use rmi::{Result, remote};

#[remote]
trait Account {
    async fn close(&self);
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn close(&self);
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn print(&self, format: String, _: ...) -> rmi::Result<()>;
}

fn main() {}

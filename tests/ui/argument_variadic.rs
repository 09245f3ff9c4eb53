use rmi::{Result, remote};

#[remote]
trait Account {
    async fn print(&self, format: String, ...) -> Result<()>;
}

fn main() {}

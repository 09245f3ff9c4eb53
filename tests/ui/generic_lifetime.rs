use rmi::{Result, remote};

#[remote]
trait Account {
    async fn name<'a>(&'a self, prefix: &'a str) -> Result<String>;
}

fn main() {}

use rmi::remote;

#[remote]
trait Account {
    async fn name<'a>(&'a self, prefix: &'a str) -> rmi::Result<String>;
}

fn main() {}

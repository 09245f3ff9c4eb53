use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> std::result::Result<i64, Box<dyn std::error::Error>>;
    async fn entries(&self) -> rmi::Result<impl Iterator<Item = u8>>;
}

fn main() {}

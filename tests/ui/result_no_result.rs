use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> i64;
    async fn name(&self) -> Option<String>;
    async fn pair(&self) -> (u8, u8);
    async fn text(&self) -> &str;
}

fn main() {}

use rmi::remote;

#[remote]
unsafe trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
}

fn main() {}

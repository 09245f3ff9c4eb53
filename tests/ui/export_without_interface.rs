use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
}

struct Savings;

fn open(node: &rmi::Node) {
    let _: AccountRef = node.export(Savings);
    let _: AccountRef = node.export(std::sync::Arc::new(Savings));
}

fn main() {}

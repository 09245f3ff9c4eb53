use rmi::remote;

#[remote]
trait Account {
    async fn balance(&self) -> rmi::Result<i64>;
}

struct Savings;

impl Account for Savings {
    async fn balance(&self) -> rmi::Result<i64> {
        let shared = std::rc::Rc::new(12);
        std::future::ready(()).await;
        Ok(*shared)
    }
}

fn main() {}

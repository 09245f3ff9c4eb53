use rmi::remote;

#[derive(serde::Serialize, serde::Deserialize)]
enum BankError {
    Broke,
}

#[remote]
trait Account {
    async fn withdraw(&self, cents: i64) -> std::result::Result<(), BankError>;
}

fn main() {}

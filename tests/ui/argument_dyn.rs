use rmi::{Result, remote};

#[remote]
trait Account {
    async fn watch(&self, watcher: Box<dyn Send>) -> Result<()>;
    async fn look(&self, watcher: &dyn Send) -> Result<()>;
}

fn main() {}

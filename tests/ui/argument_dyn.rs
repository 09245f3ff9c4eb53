use rmi::remote;

#[remote]
trait Account {
    async fn watch(&self, watcher: Box<dyn Send>) -> rmi::Result<()>;
    async fn look(&self, watcher: &dyn Send) -> rmi::Result<()>;
}

fn main() {}

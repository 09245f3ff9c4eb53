use rmi::{Result, remote};

#[remote]
trait Animal {
    async fn name(&self) -> Result<String>;
}

#[remote]
trait Pet: Animal {
    async fn owner(&self) -> Result<String>;
}

#[remote]
trait Guard {
    async fn bark(&self) -> Result<()>;
}

#[remote]
trait Dog: Pet + Guard {
    async fn fetch(&self) -> Result<()>;
}

fn main() {}

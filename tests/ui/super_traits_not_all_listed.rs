use rmi::remote;

#[remote]
trait Animal {
    async fn name(&self) -> rmi::Result<String>;
}

#[remote]
trait Pet: Animal {
    async fn owner(&self) -> rmi::Result<String>;
}

#[remote]
trait Guard {
    async fn bark(&self) -> rmi::Result<()>;
}

#[remote]
trait Dog: Pet + Guard {
    async fn fetch(&self) -> rmi::Result<()>;
}

fn main() {}

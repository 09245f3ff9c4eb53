use rmi::{Result, remote};

#[remote]
trait Account {
    async unsafe fn raw(&self) -> Result<()>;
    async extern "C" fn foreign(&self) -> Result<()>;
}

fn main() {}

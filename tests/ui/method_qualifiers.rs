use rmi::remote;

#[remote]
trait Account {
    async unsafe fn raw(&self) -> rmi::Result<()>;
    async extern "C" fn foreign(&self) -> rmi::Result<()>;
}

fn main() {}

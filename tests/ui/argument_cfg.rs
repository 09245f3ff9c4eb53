use rmi::remote;

#[remote]
trait Account {
    async fn log(&self, #[cfg(unix)] level: u8) -> rmi::Result<()>;
}

fn main() {}

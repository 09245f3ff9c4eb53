use rmi::{Result, remote};

#[remote]
trait Account {
    async fn log(&self, #[cfg(unix)] level: u8) -> Result<()>;
}

fn main() {}

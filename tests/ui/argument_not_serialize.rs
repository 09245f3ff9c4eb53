use rmi::{Result, remote};

struct Picture;

#[remote]
trait Album {
    async fn add(&self, picture: Picture) -> Result<()>;
    async fn look(&self, picture: &Picture) -> Result<()>;
    async fn first(&self) -> Result<Picture>;
}

fn main() {}

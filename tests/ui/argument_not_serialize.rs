use rmi::remote;

struct Picture;

#[remote]
trait Album {
    async fn add(&self, picture: Picture) -> rmi::Result<()>;
    async fn look(&self, picture: &Picture) -> rmi::Result<()>;
    async fn first(&self) -> rmi::Result<Picture>;
}

fn main() {}

use rmi::remote;

#[remote(nmae = "bank.Account")]
trait Misspelt {}

#[remote(name = 7)]
trait NoText {}

#[remote(name = "")]
trait Nameless {}

#[remote(name = "one", name = "two")]
trait TwoNames {}

#[remote(name)]
trait NoValue {}

#[remote("bank.Account")]
trait NoKey {}

#[remote]
trait Methods {
    #[remote(one_way)]
    async fn misspelt(&self) -> rmi::Result<()>;
    #[remote(oneway, oneway)]
    async fn twice(&self) -> rmi::Result<()>;
    #[remote]
    async fn nothing(&self) -> rmi::Result<()>;
    #[remote(oneway = true)]
    async fn valued(&self) -> rmi::Result<()>;
}

fn main() {}

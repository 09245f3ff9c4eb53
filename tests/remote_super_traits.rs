//! Super-traits that are remote themselves: an heir's reference implements them all.

use rmi::{AnyRef, Node, RemoteRef, Result, remote};

mod zoo {
    use rmi::{Result, remote};

    #[remote]
    pub trait Animal {
        async fn name(&self) -> Result<String>;
        async fn legs(&self) -> Result<u8> {
            Ok(4)
        }
    }
}

/// The macro knows a super-trait by whatever name it is imported under.
use zoo::Animal as Creature;

#[remote]
trait Pet: Creature {
    async fn owner(&self) -> Result<String>;
}

#[remote]
trait Guard<T>: std::fmt::Debug {
    async fn bark(&self, at: T) -> Result<T>;
}

#[remote]
trait Dog<T: Copy>: Pet + Guard<T> + Creature {
    async fn fetch(&self, what: Vec<T>) -> Result<usize>;
}

#[remote]
trait Puppy: Dog<u8> {}

#[derive(Debug)]
struct Rex;

impl Creature for Rex {
    async fn name(&self) -> Result<String> {
        Ok("Rex".into())
    }
}

impl Pet for Rex {
    async fn owner(&self) -> Result<String> {
        Ok("Ada".into())
    }
}

impl Guard<u8> for Rex {
    async fn bark(&self, at: u8) -> Result<u8> {
        Ok(at + 1)
    }
}

impl Dog<u8> for Rex {
    async fn fetch(&self, what: Vec<u8>) -> Result<usize> {
        Ok(what.len())
    }
}

impl Puppy for Rex {}

async fn home_with(bound: impl FnOnce(&Node) -> AnyRef) -> (Node, Node, AnyRef) {
    let home = Node::builder().listen("tcp://127.0.0.1:0").start().await.expect("a home");
    let away = Node::builder().start().await.expect("a node that dials");
    home.bind("rex", &bound(&home)).expect("a free name");
    let endpoint = home.endpoint().expect("the home listens");
    let far = away.lookup(format!("{endpoint}/rex")).await.expect("it is bound");
    (home, away, far)
}

#[tokio::test]
async fn an_heir_answers_to_all_traits_above_its_own() {
    let (home, _away, far) = home_with(|home| {
        let near: PuppyRef = home.export(Rex);
        AnyRef::from(&near)
    })
    .await;
    let near: PuppyRef = home.export(Rex);
    for puppy in [near, far.cast().expect("it was exported as a puppy")] {
        assert_eq!(puppy.name().await.unwrap(), "Rex");
        assert_eq!(puppy.legs().await.unwrap(), 4);
        assert_eq!(puppy.owner().await.unwrap(), "Ada");
        assert_eq!(puppy.bark(7).await.unwrap(), 8);
        assert_eq!(puppy.fetch(vec![1, 2]).await.unwrap(), 2);
    }
}

#[tokio::test]
async fn a_reference_can_be_cast_to_any_trait_above_its_own_and_to_no_other() {
    let (_home, _away, far) = home_with(|home| {
        let near: PetRef = home.export(Rex);
        AnyRef::from(&near)
    })
    .await;
    let animal: zoo::AnimalRef = far.cast().unwrap();
    assert_eq!(animal.name().await.unwrap(), "Rex");
    assert_eq!(animal.id(), far.id());
    assert_eq!(far.cast::<PuppyRef>().unwrap_err().kind(), rmi::ErrorKind::WrongInterface);
}

#[tokio::test]
async fn a_super_traits_reference_in_an_argument_takes_an_heir_by_a_cast() {
    async fn greet(creature: &impl Creature) -> String {
        format!("hello {}", creature.name().await.unwrap())
    }
    let (home, _away, far) = home_with(|home| {
        let near: DogRef<u8> = home.export(Rex);
        AnyRef::from(&near)
    })
    .await;
    let near: DogRef<u8> = home.export(Rex);
    let far: DogRef<u8> = far.cast().unwrap();
    assert_eq!(greet(&near).await, "hello Rex");
    assert_eq!(greet(&far).await, "hello Rex");
    assert_eq!(greet(&Rex).await, "hello Rex");
}

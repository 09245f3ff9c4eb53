//! A reference to an object on the same node: a plain call, with the same errors as a far one.

mod support;

use rmi::{ErrorKind, Executed, RemoteRef, Result, remote};
use support::{dialling, until_empty};

#[remote]
trait Fragile {
    async fn touch(&self, times: u32) -> Result<u32>;
    async fn refuse(&self) -> Result<()>;
    /// Fails as a call of its own fails.
    async fn ask(&self, other: FragileRef) -> Result<u32>;
}

struct Glass;

impl Fragile for Glass {
    async fn touch(&self, times: u32) -> Result<u32> {
        tokio::task::yield_now().await;
        assert!(times < 3, "shattered");
        Ok(times)
    }
    async fn refuse(&self) -> Result<()> {
        Err(rmi::Error::application("no more tea"))
    }
    async fn ask(&self, other: FragileRef) -> Result<u32> {
        other.touch(9).await
    }
}

#[tokio::test]
async fn a_near_handlers_panic_is_its_calls_error() {
    let node = dialling().await;
    let glass: FragileRef = node.export(Glass);
    assert_eq!(glass.touch(2).await.unwrap(), 2);
    let error = glass.touch(3).await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::Panicked, Executed::Yes));
    for part in ["shattered", "Fragile::touch", &glass.id().to_string()] {
        assert!(error.to_string().contains(part), "{part} is missing in: {error}");
    }
    assert_eq!(glass.touch(1).await.unwrap(), 1);
    drop(glass);
    until_empty(&[&node]).await;
}

#[tokio::test]
async fn an_error_of_a_handlers_own_names_its_call_near_or_far() {
    let (home, away) = (support::listening().await, dialling().await);
    home.bind("glass", &home.export::<FragileRef, _, _>(Glass)).unwrap();
    let far: FragileRef = support::lookup(&away, &home, "glass").await;
    let near: FragileRef = away.export(Glass);
    for glass in [&far, &near] {
        let error = glass.refuse().await.unwrap_err();
        assert_eq!((error.kind(), error.executed()), (ErrorKind::Application, Executed::Yes));
        assert_eq!(error.interface(), Some("Fragile"));
        assert_eq!(error.method(), Some("refuse"));
        assert_eq!(error.object(), Some(glass.id()));
        assert!(error.peer().is_some_and(|peer| peer.contains(&glass.home().to_string())));
    }
    // The inner call is the one that is named, and the outer handler ran all the same.
    let error = far.ask(near.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::Panicked, Executed::Yes));
    assert_eq!((error.method(), error.object()), (Some("touch"), Some(near.id())));
    drop((far, near));
    home.unbind("glass");
    until_empty(&[&home, &away]).await;
}

#[tokio::test]
async fn a_node_that_shuts_down_frees_its_port_and_refuses_calls_of_its_own() {
    let (home, away) = (support::listening().await, dialling().await);
    home.bind("glass", &home.export::<FragileRef, _, _>(Glass)).unwrap();
    let far: FragileRef = support::lookup(&away, &home, "glass").await;
    let caller = {
        let far = far.clone();
        tokio::spawn(async move {
            loop {
                if let Err(error) = far.touch(1).await {
                    return error;
                }
            }
        })
    };
    away.shutdown().await;
    assert_eq!(caller.await.unwrap().kind(), ErrorKind::ShutDown);
    let endpoint = home.endpoint().unwrap().to_string();
    home.shutdown().await;
    let again = rmi::Node::builder().listen(&endpoint).start().await.expect("the port is free");
    drop(far);
    until_empty(&[&home, &away, &again]).await;
}

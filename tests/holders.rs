//! Who holds an object: what its home and its holders answer.

mod support;

use parking_lot::Mutex;
use rmi::gc::Holders;
use rmi::{NodeId, RemoteRef, Result, remote};
use support::{dialling, impatient, listening, lookup, runtime, until, until_empty};

#[remote]
trait Shelf {
    async fn put(&self, thing: ThingRef) -> Result<()>;
    async fn clear(&self) -> Result<()>;
}

#[remote]
trait Thing {
    async fn touch(&self) -> Result<()>;
}

#[derive(Default)]
struct Wooden(Mutex<Vec<ThingRef>>);

impl Shelf for Wooden {
    async fn put(&self, thing: ThingRef) -> Result<()> {
        self.0.lock().push(thing);
        Ok(())
    }
    async fn clear(&self) -> Result<()> {
        drop(std::mem::take(&mut *self.0.lock()));
        Ok(())
    }
}

struct Cup;

impl Thing for Cup {
    async fn touch(&self) -> Result<()> {
        Ok(())
    }
}

/// (peer, references, has a session, is an estate) of each peer that is counted.
fn counted(holders: &Holders) -> Vec<(NodeId, u32, bool, bool)> {
    let row = |peer: &rmi::gc::Holder| {
        (peer.peer, peer.references, peer.session.is_some(), peer.estate_for.is_some())
    };
    holders.peers.iter().map(row).collect()
}

#[tokio::test]
async fn the_home_names_its_handles_its_names_and_its_peers() {
    let (home, elsewhere) = (listening().await, dialling().await);
    let cup: ThingRef = home.export(Cup);
    home.bind("cup", &cup).unwrap();
    home.bind("a cup", &cup).unwrap();
    let alone = home.gc().who_holds(&cup);
    assert_eq!((alone.node, alone.object), (home.id(), cup.id()));
    assert_eq!((alone.local, alone.clones), (1, 3));
    assert_eq!(alone.names, ["a cup", "cup"]);
    assert_eq!((counted(&alone), alone.parent), (vec![], None));

    let far: ThingRef = lookup(&elsewhere, &home, "cup").await;
    let again: ThingRef = lookup(&elsewhere, &home, "cup").await;
    let held = home.gc().who_holds(&cup);
    assert_eq!(counted(&held), [(elsewhere.id(), 2, true, false)]);
    let shown = held.to_string();
    assert!(
        shown.contains("local handles 1, clones of this one 3, bound as \"a cup\", \"cup\""),
        "{shown}"
    );
    assert!(shown.contains(&elsewhere.id().to_string()), "{shown}");

    let there = elsewhere.gc().who_holds(&far);
    assert_eq!((there.local, there.parent, counted(&there)), (2, Some(home.id()), vec![]));
    drop((far, again));
    until("nobody else holds it", || home.gc().who_holds(&cup).peers.is_empty()).await;
    drop(cup);
    assert!(home.unbind("cup") && home.unbind("a cup"));
    until_empty(&[&home, &elsewhere]).await;
}

#[tokio::test]
async fn behind_one_that_passed_it_on_others_are_named_there_and_soon_at_home() {
    let (home, middle, last) = (listening().await, listening().await, listening().await);
    home.bind("cup", &home.export::<ThingRef, _, _>(Cup)).unwrap();
    last.bind("shelf", &last.export::<ShelfRef, _, _>(Wooden::default())).unwrap();
    let cup: ThingRef = lookup(&middle, &home, "cup").await;
    let shelf: ShelfRef = lookup(&middle, &last, "shelf").await;
    shelf.put(cup.clone()).await.unwrap();

    let at_middle = middle.gc().who_holds(&cup);
    assert_eq!(counted(&at_middle), [(last.id(), 1, true, false)]);
    assert_eq!(at_middle.parent, Some(home.id()));
    // It is adopted after a while, though nobody calls.
    let at_home: ThingRef = lookup(&home, &home, "cup").await;
    let peers = || home.gc().who_holds(&at_home).peers.into_iter().map(|holder| holder.peer);
    until("the home counts it", || peers().any(|peer| peer == last.id())).await;
    until("the middle does not", || middle.gc().who_holds(&cup).peers.is_empty()).await;

    shelf.clear().await.unwrap();
    drop((cup, shelf, at_home));
    assert!(home.unbind("cup") && last.unbind("shelf"));
    until_empty(&[&home, &middle, &last]).await;
}

#[test]
fn what_a_lost_peer_had_is_named_with_its_deadline() {
    let lost = runtime();
    runtime().block_on(async {
        let home = impatient().listen("tcp://127.0.0.1:0").start().await.unwrap();
        let cup: ThingRef = home.export(Cup);
        home.bind("cup", &cup).unwrap();
        let endpoint = home.endpoint().unwrap().clone();
        let (holder, far) = lost
            .spawn(async move {
                let holder = dialling().await;
                let far: ThingRef = holder.lookup(format!("{endpoint}/cup")).await.unwrap();
                (holder, far)
            })
            .await
            .unwrap();
        let id = holder.id();
        // No goodbye: the tasks are gone, and with them the connection.
        lost.shutdown_background();
        let is_estate = || counted(&home.gc().who_holds(&cup)) == [(id, 0, false, true)];
        until("it is an estate", is_estate).await;
        let shown = home.gc().who_holds(&cup).to_string();
        assert!(shown.contains("given up, kept for"), "{shown}");
        until("it is over", || home.gc().who_holds(&cup).peers.is_empty()).await;
        drop((holder, far));
    });
}

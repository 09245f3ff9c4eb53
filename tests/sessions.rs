//! One session for each pair of nodes, whoever dials, over every transport.

mod support;

use std::time::Duration;

use rmi::{ErrorKind, Limits, Node, Result, remote};
use support::{Drops, PATIENCE, Token, dialling, listening, lookup, until_empty};

#[remote]
trait Door {
    async fn knock(&self) -> Result<u64>;
    async fn knock_at(&self, other: DoorRef) -> Result<u64>;
}

struct Wooden(u64, Option<Token>);

impl Door for Wooden {
    async fn knock(&self) -> Result<u64> {
        let _ = &self.1;
        Ok(self.0)
    }
    async fn knock_at(&self, other: DoorRef) -> Result<u64> {
        other.knock().await
    }
}

fn bind(node: &Node, number: u64, drops: &Drops) {
    node.bind("door", &node.export::<DoorRef, _, _>(Wooden(number, Some(drops.token())))).unwrap();
}

async fn part(drops: &Drops, nodes: &[&Node]) {
    let bound = nodes.iter().filter(|node| node.unbind("door")).count();
    drops.reach(bound).await;
    until_empty(nodes).await;
}

#[tokio::test]
async fn two_nodes_that_dial_each_other_at_once_end_with_one_session() {
    for round in 0..50 {
        let (one, two) = (listening().await, listening().await);
        let drops = Drops::default();
        bind(&one, 1, &drops);
        bind(&two, 2, &drops);
        let (at_two, at_one) = tokio::join!(
            lookup::<DoorRef>(&one, &two, "door"),
            lookup::<DoorRef>(&two, &one, "door"),
        );
        assert_eq!(at_two.knock().await.unwrap(), 2, "round {round}");
        assert_eq!(at_one.knock().await.unwrap(), 1, "round {round}");
        assert_eq!((one.stats().sessions, two.stats().sessions), (1, 1), "round {round}");
        drop((at_one, at_two));
        part(&drops, &[&one, &two]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_lookups_at_once_share_one_connection() {
    let (home, away) = (listening().await, dialling().await);
    let drops = Drops::default();
    bind(&home, 3, &drops);
    let endpoint = home.endpoint().unwrap().to_string();
    let lookups = (0..50).map(|_| {
        let (away, uri) = (away.clone(), format!("{endpoint}/door"));
        tokio::spawn(async move { away.lookup::<DoorRef>(uri).await.unwrap().knock().await })
    });
    for lookup in lookups.collect::<Vec<_>>() {
        assert_eq!(lookup.await.unwrap().unwrap(), 3);
    }
    assert_eq!((home.stats().sessions, away.stats().sessions), (1, 1));
    part(&drops, &[&home, &away]).await;
}

#[tokio::test]
async fn a_node_that_was_dialled_dials_back_over_the_session_that_exists() {
    let (one, two) = (listening().await, listening().await);
    let drops = Drops::default();
    bind(&one, 1, &drops);
    bind(&two, 2, &drops);
    let at_two: DoorRef = lookup(&one, &two, "door").await;
    let at_one: DoorRef = lookup(&two, &one, "door").await;
    assert_eq!(at_one.knock().await.unwrap() + at_two.knock().await.unwrap(), 3);
    assert_eq!((one.stats().sessions, two.stats().sessions), (1, 1));
    drop((at_one, at_two));
    part(&drops, &[&one, &two]).await;
}

#[tokio::test]
async fn a_lookup_at_ones_own_address_finds_the_object_itself() {
    use rmi::RemoteRef;
    let node = listening().await;
    let drops = Drops::default();
    bind(&node, 4, &drops);
    let port = node.endpoint().unwrap().to_string().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost"] {
        let door: DoorRef = node.lookup(format!("tcp://{host}:{port}/door")).await.unwrap();
        assert!(door.is_local(), "{host}");
    }
    assert_eq!(node.stats().sessions, 0);
    part(&drops, &[&node]).await;
}

#[tokio::test]
async fn every_transport_carries_calls_both_ways() {
    let folder = std::env::temp_dir().join(format!("rmi-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let unix = format!("unix://{}", folder.join("socket").display());
    for endpoint in ["tcp://127.0.0.1:0", "tcp://[::1]:0", &unix, "inproc://every-transport"] {
        let home = match Node::builder().listen(endpoint).start().await {
            Ok(home) => home,
            // A machine without IPv6 is no fault of ours.
            Err(_) if endpoint.contains("[::1]") => continue,
            Err(error) => panic!("{endpoint}: {error}"),
        };
        let away = dialling().await;
        let drops = Drops::default();
        bind(&home, 5, &drops);
        let door: DoorRef = lookup(&away, &home, "door").await;
        let own: DoorRef = away.export(Wooden(6, None));
        assert_eq!(door.knock().await.unwrap(), 5, "{endpoint}");
        assert_eq!(door.knock_at(own).await.unwrap(), 6, "{endpoint}");
        drop(door);
        part(&drops, &[&home, &away]).await;
        home.shutdown().await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn nobody_at_an_address_is_unreachable_and_may_be_tried_again() {
    let away = dialling().await;
    for nowhere in ["tcp://127.0.0.1:1/door", "unix:///nonexistent/socket/door", "inproc://no/door"]
    {
        let error = away.lookup::<DoorRef>(nowhere).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{nowhere}: {error}");
        assert!(error.is_retryable(), "{nowhere}: {error}");
    }
    let error = away.lookup::<DoorRef>("no address at all").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

#[tokio::test]
async fn who_waits_for_the_same_silent_address_shares_one_attempt() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let limits = Limits { handshake_time_max: Duration::from_millis(200), ..Limits::default() };
    let node = Node::builder().limits(limits).start().await.unwrap();
    let uri = format!("tcp://{}/door", silent.local_addr().unwrap());
    let lookups = (0..10).map(|_| {
        let (node, uri) = (node.clone(), uri.clone());
        tokio::spawn(async move { node.lookup::<DoorRef>(uri).await.unwrap_err() })
    });
    for lookup in lookups.collect::<Vec<_>>() {
        let error = lookup.await.unwrap();
        assert!(error.is_retryable(), "{error}");
    }
    // All have asked before the first attempt could fail.
    let attempts = std::iter::from_fn(|| silent.accept().ok()).count();
    assert_eq!(attempts, 1);
    until_empty(&[&node]).await;
}

#[test]
fn a_lookup_by_a_node_whose_runtime_has_ended_ends_too() {
    let (ended, goes_on) = (support::runtime(), support::runtime());
    let away = ended.block_on(dialling());
    ended.shutdown_background();
    goes_on.block_on(async {
        let home = listening().await;
        let drops = Drops::default();
        bind(&home, 1, &drops);
        let uri = format!("{}/door", home.endpoint().unwrap());
        let lookup = tokio::time::timeout(PATIENCE, away.lookup::<DoorRef>(uri));
        let error = lookup.await.expect("it ends").unwrap_err();
        assert!(error.is_disconnect() || error.kind() == ErrorKind::ShutDown, "{error}");
        part(&drops, &[&home]).await;
    });
}

#[tokio::test]
async fn both_sides_shut_down_at_once_while_they_hold_each_others_references() {
    let (one, two) = (listening().await, listening().await);
    let drops = Drops::default();
    bind(&one, 1, &drops);
    bind(&two, 2, &drops);
    let at_two: DoorRef = lookup(&one, &two, "door").await;
    let at_one: DoorRef = lookup(&two, &one, "door").await;
    tokio::join!(one.shutdown(), two.shutdown());
    drops.reach(2).await;
    let error = at_two.knock().await.unwrap_err();
    assert!(error.is_disconnect() || error.kind() == ErrorKind::ShutDown, "{error}");
    drop((at_one, at_two));
    until_empty(&[&one, &two]).await;
}

#[tokio::test]
async fn dropping_the_last_handle_of_a_node_shuts_it_down() {
    let (home, away) = (listening().await, dialling().await);
    let drops = Drops::default();
    bind(&home, 1, &drops);
    let door: DoorRef = lookup(&away, &home, "door").await;
    drop(home);
    drops.reach(1).await;
    support::until("the session has ended", || away.stats().sessions == 0).await;
    assert!(door.knock().await.unwrap_err().is_disconnect());
    drop(door);
    until_empty(&[&away]).await;
}

//! The rules of adoption at one entry, one by one.

use rmi_gc::{
    Bridge, Entry, ExportIndex, Fate, Forwarding, Home, HomeSession, Millis, News, NodeId,
    ObjectId, ObjectIndex, Release, Standing, Tell, Waiting,
};

/// The home of the object.
const A: NodeId = NodeId(0xa);
const B: NodeId = NodeId(0xb);
const C: NodeId = NodeId(0xc);
const OBJECT: ObjectId = ObjectId { home: A, index: ObjectIndex(17) };
const AT_A: ExportIndex = ExportIndex(17);
const AT_B: ExportIndex = ExportIndex(2);
const HERE: ExportIndex = ExportIndex(3);
const DEADLINE: Millis = Millis(60_000);
const IN_DOUBT: Standing = Standing::Adopting { voluntary: false };
const WANTED: Standing = Standing::Adopting { voluntary: true };

/// A bridge below `B`, with a child `C`.
fn from_b() -> Entry {
    let mut entry = Entry::Bridge(Bridge::new(OBJECT, B, AT_B, 2));
    entry.reference_sent(OBJECT, C, || HERE).expect("it is confirmed");
    entry
}

/// Every standing, and how it comes about.
fn all() -> [(Standing, Entry); 5] {
    let (mut wanted, mut doubt) = (from_b(), from_b());
    let (mut suspect, mut broken) = (from_b(), from_b());
    let _ = wanted.adoption_wanted(OBJECT, HomeSession::Exists);
    let _ = doubt.told(OBJECT, B, News::Reroot, HomeSession::Exists);
    let _ = suspect.told(OBJECT, B, News::Reroot, HomeSession::Absent);
    let _ = broken.object_gone();
    [
        (Standing::Confirmed, from_b()),
        (WANTED, wanted),
        (IN_DOUBT, doubt),
        (Standing::Suspect, suspect),
        (Standing::Broken, broken),
    ]
}

fn news(news: News) -> Option<Tell> {
    Some(Tell { news, index: HERE, children: vec![C] })
}

#[test]
fn rule_1_who_is_not_in_doubt_may_pass_on_and_who_is_waits_or_fails() {
    for ((standing, entry), want) in all().into_iter().zip([
        Forwarding::Now,
        Forwarding::Now,
        Forwarding::AfterAdoption,
        Forwarding::AfterAdoption,
        Forwarding::Never,
    ]) {
        assert_eq!(entry.standing(), standing);
        for to in [A, B, C] {
            assert_eq!(entry.forwarding(OBJECT, to, 4), want, "{standing:?} to {to}");
            let sent = entry.clone().reference_sent(OBJECT, to, || HERE);
            assert_eq!(sent.is_ok(), want == Forwarding::Now, "{standing:?} to {to}");
        }
    }
}

#[test]
fn rule_16_at_the_depth_bound_only_children_wait() {
    let entry = from_b();
    for (name, to, depth_max, want) in [
        ("a child, below the bound", C, 3, Forwarding::Now),
        ("a child, at the bound", C, 2, Forwarding::AfterAdoption),
        ("the parent", B, 2, Forwarding::Now),
        ("the home", A, 2, Forwarding::Now),
    ] {
        assert_eq!(entry.forwarding(OBJECT, to, depth_max), want, "{name}");
    }
    assert_eq!(Entry::Home(Home::new()).forwarding(OBJECT, C, 0), Forwarding::Now, "the home");
}

#[test]
fn rule_7_adoption_is_wanted_once_and_only_where_it_helps() {
    for ((standing, mut entry), asks) in all().into_iter().zip([true, false, false, false, false]) {
        let mut alone = entry.clone();
        let asked = entry.adoption_wanted(OBJECT, HomeSession::Exists).adopt;
        assert_eq!(asked, asks, "{standing:?}");
        assert!(!alone.adoption_wanted(OBJECT, HomeSession::Absent).adopt, "{standing:?}");
        assert_eq!(alone.standing(), standing);
    }
    let mut near = Entry::Bridge(Bridge::new(OBJECT, A, AT_A, 1));
    assert!(!near.adoption_wanted(OBJECT, HomeSession::Exists).adopt, "the home is the parent");
}

#[test]
fn rule_9_an_adoption_confirms_whatever_the_standing_was() {
    for ((standing, mut entry), worried) in all().into_iter().zip([false, false, true, true, true])
    {
        let orders = entry.adopted(OBJECT, AT_A).expect("the home keeps its index");
        let old = Release { to: B, index: AT_B, count: 1 };
        assert_eq!(orders.release, Some(old), "{standing:?}");
        assert_eq!(orders.tell, if worried { news(News::Confirm) } else { None }, "{standing:?}");
        assert_eq!(orders.waiting, Some(Waiting::GoOn), "{standing:?}");
        assert_eq!((entry.standing(), entry.view().depth), (Standing::Confirmed, 1));
        let again = entry.adopted(OBJECT, AT_A).expect("the home keeps its index");
        assert_eq!(again.release, None, "{standing:?}");
        assert_eq!(entry.parent().map(|parent| parent.received), Some(2), "{standing:?}");
    }
}

#[test]
fn rule_10_whoever_did_not_worry_is_told_to() {
    for ((standing, mut entry), worried) in all().into_iter().zip([false, false, true, true, true])
    {
        let orders = entry.object_gone();
        assert_eq!(orders.tell, if worried { None } else { news(News::Reroot) }, "{standing:?}");
        let fails = (standing != Standing::Broken).then_some(Waiting::Fail);
        assert_eq!(orders.waiting, fails, "{standing:?}");
    }
}

#[test]
fn rule_12_what_a_lost_peer_held_is_kept_until_the_deadline() {
    for (name, mut entry) in [("home", Entry::Home(Home::new())), ("bridge", from_b())] {
        let _ = entry.reference_sent(OBJECT, C, || HERE).expect("it may be passed on");
        let orders = entry.session_given_up(OBJECT, C, HomeSession::Exists, DEADLINE);
        assert_eq!(orders.fate, Fate::Kept, "{name}");
        assert_eq!((entry.share_of(C), entry.next_deadline()), (0, Some(DEADLINE)), "{name}");
        assert_eq!(entry.handle_dropped(), Fate::Kept, "{name}: the estate keeps it");
        assert_eq!(entry.expire(Millis(DEADLINE.0 - 1)), Fate::Kept, "{name}");
        assert_ne!(entry.expire(DEADLINE), Fate::Kept, "{name}");
    }
}

#[test]
fn rule_8_an_adoption_claims_the_estate_of_the_adopted() {
    let mut home = Entry::Home(Home::new());
    home.reference_sent(OBJECT, C, || HERE).expect("a home may pass on");
    let _ = home.session_given_up(OBJECT, C, HomeSession::Exists, DEADLINE);
    home.adopts(C);
    assert_eq!((home.share_of(C), home.next_deadline()), (1, None));
}

#[test]
fn rule_13_a_connection_that_is_back_confirms_unless_the_parent_is_in_doubt_itself() {
    for home in [HomeSession::Exists, HomeSession::Absent] {
        let mut entry = from_b();
        assert_eq!(entry.connection_lost(OBJECT, B, home).tell, news(News::Reroot));
        let mut rerooted = entry.clone();
        assert_eq!(entry.connection_back(B).tell, news(News::Confirm));
        assert_eq!(entry.standing(), Standing::Confirmed);
        assert_eq!(rerooted.told(OBJECT, B, News::Reroot, home).tell, None, "they worry already");
        assert_eq!(rerooted.connection_back(B).tell, None);
        assert_ne!(rerooted.standing(), Standing::Confirmed);
        assert_eq!(rerooted.told(OBJECT, B, News::Confirm, home).tell, news(News::Confirm));
    }
}

#[test]
fn rule_13_a_lost_connection_to_anyone_but_the_parent_is_no_doubt() {
    let mut near = Entry::Bridge(Bridge::new(OBJECT, A, AT_A, 1));
    let _ = near.connection_lost(OBJECT, A, HomeSession::Exists);
    assert_eq!(near.standing(), Standing::Confirmed, "a call to the home is slow, no more");
    for peer in [A, C] {
        let mut entry = from_b();
        let _ = entry.connection_lost(OBJECT, peer, HomeSession::Exists);
        assert_eq!(entry.standing(), Standing::Confirmed, "{peer}");
    }
}

#[test]
fn rule_14_only_the_parent_has_a_say() {
    for from in [A, C] {
        for said in [News::Reroot, News::Confirm, News::Leaving] {
            for (standing, mut entry) in all() {
                let before = entry.clone();
                let _ = entry.told(OBJECT, from, said, HomeSession::Exists);
                assert_eq!(entry, before, "{said:?} by {from}, {standing:?}");
            }
        }
    }
}

#[test]
fn rule_15_the_home_is_lost_while_adopting() {
    for ((standing, mut entry), want) in all().into_iter().zip([
        Standing::Confirmed,
        Standing::Confirmed,
        Standing::Suspect,
        Standing::Suspect,
        Standing::Broken,
    ]) {
        let _ = entry.session_given_up(OBJECT, A, HomeSession::Exists, DEADLINE);
        assert_eq!(entry.standing(), want, "{standing:?}");
        let retries = entry.home_session_opened().adopt;
        assert_eq!(retries, want == Standing::Suspect, "{standing:?}");
    }
}

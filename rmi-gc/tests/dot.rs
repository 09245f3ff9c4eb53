//! How snapshots are drawn.

use std::collections::BTreeMap;

use expect_test::expect;
use rmi_gc::{
    Collector, EntrySnapshot, ExportIndex, Millis, NodeId, ObjectId, ObjectIndex, Parent, Snapshot,
    Standing, State, dot,
};

const A: NodeId = NodeId(0xa);
const B: NodeId = NodeId(0xb);
const C: NodeId = NodeId(0xc);

/// A chain from `A` by way of `B` to `C`: `B` has dropped its handle, and sends another reference that has not arrived.
fn chain() -> [Snapshot; 3] {
    let [mut a, mut b, mut c] = [A, B, C].map(Collector::new);
    let object = a.export();
    pass(&mut a, &mut b, object);
    pass(&mut b, &mut c, object);
    let draft = b.draft(C, &[object]).expect("it is confirmed");
    let _ = b.write(draft);
    assert!(b.drop_handle(object).freed.is_empty());
    [a.snapshot(), b.snapshot(), c.snapshot()]
}

fn pass(from: &mut Collector, to: &mut Collector, object: ObjectId) {
    let draft = from.draft(to.node(), &[object]).expect("it is confirmed");
    let (frame, _) = from.write(draft);
    let effects = to.receive(from.node(), &frame).expect("nobody misbehaves");
    assert_eq!(effects.arrived, [object]);
}

/// A bridge of which there is everything to say, in that standing.
fn troubled(standing: Standing, parent: Option<Parent>) -> Snapshot {
    let bridge = EntrySnapshot {
        id: ObjectId { home: A, index: ObjectIndex(1) },
        local: 2,
        children: BTreeMap::from([(C, 3)]),
        pins: BTreeMap::from([(A, 1)]),
        estate: BTreeMap::from([(NodeId(0xd), Millis(60_000))]),
        parent,
        state: State::Relaying,
        standing,
        depth: 2,
    };
    Snapshot { node: B, exports: vec![], bridges: vec![bridge], owed_releases: 1, remembered: 2 }
}

#[test]
fn nodes_are_clusters_and_a_share_under_way_shows() {
    expect![[r#"
        digraph references {
          rankdir=BT;
          node [shape=box, fontname="sans-serif"];
          edge [fontname="sans-serif", fontsize=10];
          subgraph "cluster na" {
            label="n00000a";
            "o1@na at na" [label="o1@n00000a\nhome, local 1\npassed on to n00000b ×1", style=bold];
          }
          subgraph "cluster nb" {
            label="n00000b\nindices remembered 1";
            "o1@na at nb" [label="o1@n00000a\nzombie, depth 1, local 0\npassed on to n00000c ×2", style=dashed];
          }
          subgraph "cluster nc" {
            label="n00000c\nindices remembered 1";
            "o1@na at nc" [label="o1@n00000a\ndepth 2, local 1"];
          }
          "o1@na at nb" -> "o1@na at na" [label="received 1 of 1"];
          "o1@na at nc" -> "o1@na at nb" [label="received 1 of 2"];
        }
    "#]].assert_eq(&dot(&chain()));
}

#[test]
fn one_snapshot_points_at_nodes_that_were_not_looked_at() {
    let [_, b, _] = chain();
    expect![[r#"
        digraph references {
          rankdir=BT;
          node [shape=box, fontname="sans-serif"];
          edge [fontname="sans-serif", fontsize=10];
          subgraph "cluster nb" {
            label="n00000b\nindices remembered 1";
            "o1@na at nb" [label="o1@n00000a\nzombie, depth 1, local 0\npassed on to n00000c ×2", style=dashed];
          }
          "o1@na at na" [label="n00000a\nnot looked at", shape=ellipse, style=dotted];
          "o1@na at nc" [label="n00000c\nnot looked at", shape=ellipse, style=dotted];
          "o1@na at nb" -> "o1@na at na" [label="received 1"];
          "o1@na at nc" -> "o1@na at nb" [label="sent 2", style=dashed, dir=back];
        }
    "#]].assert_eq(&b.to_dot());
}

#[test]
fn a_bridge_in_trouble_tells_all_that_keeps_it() {
    expect![[r#"
        digraph references {
          rankdir=BT;
          node [shape=box, fontname="sans-serif"];
          edge [fontname="sans-serif", fontsize=10];
          subgraph "cluster nb" {
            label="n00000b\nreleases owed 1\nindices remembered 2";
            "o1@na at nb" [label="o1@n00000a\nrelay, depth 2, local 2\nSuspect\npassed on to n00000c ×3\npinned by frames to n00000a ×1\nestate of n00000d until 60000 ms", color=orange];
          }
          "o1@na at nc" [label="n00000c\nnot looked at", shape=ellipse, style=dotted];
          "o1@na at nc" -> "o1@na at nb" [label="sent 3", style=dashed, dir=back];
        }
    "#]].assert_eq(&troubled(Standing::Suspect, None).to_dot());
}

#[test]
fn the_order_of_the_snapshots_does_not_matter() {
    let [a, b, c] = chain();
    assert_eq!(dot(&[c.clone(), a.clone(), b.clone()]), dot(&[a, b, c]));
}

#[test]
fn nodes_whose_short_names_are_the_same_stay_apart() {
    let twin = NodeId(A.0 | 1 << 40);
    let [mut one, mut other] = [A, twin].map(Collector::new);
    let _ = (one.export(), other.export());
    let graph = dot(&[one.snapshot(), other.snapshot()]);
    assert!(graph.contains(r#""o1@na at na""#), "{graph}");
    assert!(graph.contains(r#""o1@n1000000000a at n1000000000a""#), "{graph}");
}

#[test]
fn every_graph_is_well_formed() {
    let parent = Parent { peer: A, index: ExportIndex(1), received: 1 };
    let standings = [
        Standing::Confirmed,
        Standing::Adopting { voluntary: true },
        Standing::Adopting { voluntary: false },
        Standing::Suspect,
        Standing::Broken,
    ];
    let troubled = standings
        .iter()
        .flat_map(|standing| [None, Some(parent)].map(|parent| vec![troubled(*standing, parent)]));
    for snapshots in troubled.chain([vec![], chain().into()]) {
        well_formed(&dot(&snapshots));
    }
}

/// Brackets match outside of strings, strings end on their line, statements end with `;`, and every box that an arrow
/// touches is drawn.
fn well_formed(graph: &str) {
    let (mut open, mut drawn, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for line in graph.lines() {
        let (bare, strings) = without_strings(line);
        for character in bare.chars() {
            match character {
                '{' | '[' => open.push(character),
                '}' => assert_eq!(open.pop(), Some('{'), "{line}"),
                ']' => assert_eq!(open.pop(), Some('['), "{line}"),
                _ => {}
            }
        }
        assert!(bare.ends_with(['{', '}', ';']), "{line}");
        if bare.contains("->") {
            touched.extend(strings.into_iter().take(2));
        } else if bare.contains('[') {
            drawn.extend(strings.into_iter().take(1));
        }
    }
    assert!(open.is_empty(), "{graph}");
    assert!(touched.iter().all(|end| drawn.contains(end)), "{graph}");
}

/// A line with its strings cut out, and those.
fn without_strings(line: &str) -> (String, Vec<String>) {
    let (mut bare, mut strings) = (String::new(), Vec::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character != '"' {
            bare.push(character);
            continue;
        }
        let mut string = String::new();
        loop {
            match characters.next().expect("a string ends on its line") {
                '"' => break,
                '\\' => string.extend(characters.next()),
                plain => string.push(plain),
            }
        }
        strings.push(string);
    }
    (bare, strings)
}

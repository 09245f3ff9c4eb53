//! Snapshots as graphs, for Graphviz: which node counts whom, and why an object still lives.
//!
//! A node is a cluster, an entry a box in it. A solid arrow leads up from a bridge to its parent, and so to the home. A dashed
//! one leads down to where a share went that no solid arrow accounts for: to a node that was not looked at, or has not
//! received it yet, or has another parent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};

use crate::{EntrySnapshot, NodeId, ObjectId, Parent, Snapshot, Standing, State};

impl Snapshot {
    /// This snapshot as a graph in Graphviz's DOT language: [`dot()`] of it alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use rmi_gc::{Collector, NodeId};
    ///
    /// let mut home = Collector::new(NodeId(1));
    /// home.export();
    /// let graph = home.snapshot().to_dot();
    /// assert!(graph.contains(r#""o1@n1 at n1" [label="o1@n000001\nhome, local 1""#), "{graph}");
    /// ```
    pub fn to_dot(&self) -> String {
        dot(std::slice::from_ref(self))
    }
}

/// Snapshots of several nodes as one graph in Graphviz's DOT language, which `dot -Tsvg` draws.
///
/// Each entry tells its local handles, what it passed on, its depth, its standing if that is not `Confirmed`, its estates and
/// pins. An arrow to a parent says how many references were received from it and, if it was looked at as well, how many it
/// counts. The two differ while references or releases are under way; and snapshots of several nodes are of several moments.
///
/// Nodes and entries stand in the order of their ids, whatever the order of `snapshots`. Of two of one node, the last counts.
///
/// # Examples
///
/// ```
/// use rmi_gc::{Collector, NodeId, dot};
///
/// // A reference is passed to another node.
/// let (mut home, mut holder) = (Collector::new(NodeId(1)), Collector::new(NodeId(2)));
/// let object = home.export();
/// let draft = home.draft(NodeId(2), &[object]).expect("a home may pass on");
/// let (frame, _) = home.write(draft);
/// let _ = holder.receive(NodeId(1), &frame)?;
///
/// let graph = dot(&[home.snapshot(), holder.snapshot()]);
/// assert!(graph.contains(r#""o1@n1 at n2" -> "o1@n1 at n1" [label="received 1 of 1"]"#), "{graph}");
/// # Ok::<(), rmi_gc::PeerMisbehaved>(())
/// ```
pub fn dot(snapshots: &[Snapshot]) -> String {
    Graph::new(snapshots).to_string()
}

/// What is drawn.
struct Graph<'a> {
    nodes: BTreeMap<NodeId, &'a Snapshot>,
    entries: BTreeMap<Place, &'a EntrySnapshot>,
}

/// Where an entry stands, or would.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    node: NodeId,
    object: ObjectId,
}

/// An arrow.
struct Edge {
    from: Place,
    to: Place,
    label: String,
    look: &'static str,
}

impl<'a> Graph<'a> {
    fn new(snapshots: &'a [Snapshot]) -> Self {
        let nodes: BTreeMap<_, _> =
            snapshots.iter().map(|snapshot| (snapshot.node, snapshot)).collect();
        let entries = nodes.values().flat_map(|snapshot| {
            let place = |entry: &EntrySnapshot| Place { node: snapshot.node, object: entry.id };
            all(snapshot).into_iter().map(move |entry| (place(entry), entry))
        });
        let entries = entries.collect();
        Self { nodes, entries }
    }

    fn edges(&self) -> impl Iterator<Item = Edge> {
        self.entries.iter().flat_map(|(place, entry)| {
            let up = entry.parent.map(|parent| self.edge_to_parent(*place, parent));
            let counted = entry.children.iter();
            up.into_iter().chain(
                counted.filter_map(|(child, sent)| self.edge_to_child(*place, *child, *sent)),
            )
        })
    }

    fn edge_to_parent(&self, from: Place, parent: Parent) -> Edge {
        let to = Place { node: parent.peer, ..from };
        let received = parent.received;
        let label = match self.entries.get(&to) {
            Some(entry) => {
                let sent = entry.children.get(&from.node).unwrap_or(&0);
                format!("received {received} of {sent}")
            }
            None => format!("received {received}"),
        };
        Edge { from, to, label, look: "" }
    }

    /// None if the child has an arrow to here.
    fn edge_to_child(&self, to: Place, child: NodeId, sent: u32) -> Option<Edge> {
        let from = Place { node: child, ..to };
        let parent = self.entries.get(&from).and_then(|entry| entry.parent);
        if parent.is_some_and(|parent| parent.peer == to.node) {
            return None;
        }
        // Drawn from its head, so that children are below their parents all the same.
        Some(Edge { from, to, label: format!("sent {sent}"), look: ", style=dashed, dir=back" })
    }
}

impl Display for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "digraph references {{")?;
        writeln!(f, "  rankdir=BT;")?;
        writeln!(f, "  node [shape=box, fontname=\"sans-serif\"];")?;
        writeln!(f, "  edge [fontname=\"sans-serif\", fontsize=10];")?;
        self.nodes.values().try_for_each(|snapshot| cluster(f, snapshot))?;
        let edges: Vec<Edge> = self.edges().collect();
        let ends = edges.iter().flat_map(|edge| [edge.from, edge.to]);
        let unseen: BTreeSet<Place> =
            ends.filter(|place| !self.entries.contains_key(place)).collect();
        for place in unseen {
            let what = match self.nodes.get(&place.node) {
                Some(_) => "no entry",
                None => "not looked at",
            };
            let label = format!("{}\n{what}", place.node);
            writeln!(f, "  {place} [label={}, shape=ellipse, style=dotted];", Quoted(&label))?;
        }
        for Edge { from, to, label, look } in &edges {
            writeln!(f, "  {from} -> {to} [label={}{look}];", Quoted(label))?;
        }
        writeln!(f, "}}")
    }
}

fn cluster(f: &mut fmt::Formatter<'_>, snapshot: &Snapshot) -> fmt::Result {
    let Snapshot { node, owed_releases, remembered, .. } = snapshot;
    let mut title = node.to_string();
    if *owed_releases > 0 {
        write!(title, "\nreleases owed {owed_releases}")?;
    }
    if *remembered > 0 {
        write!(title, "\nindices remembered {remembered}")?;
    }
    // Graphviz draws a frame around subgraphs whose name begins so.
    writeln!(f, "  subgraph \"cluster n{:x}\" {{", node.0)?;
    writeln!(f, "    label={};", Quoted(&title))?;
    for entry in all(snapshot) {
        let place = Place { node: *node, object: entry.id };
        writeln!(f, "    {place} [label={}{}];", Quoted(&label(entry)?), look(entry))?;
    }
    writeln!(f, "  }}")
}

/// What an entry says of itself, one thing a line.
fn label(entry: &EntrySnapshot) -> Result<String, fmt::Error> {
    let EntrySnapshot { id, local, children, pins, estate, state, standing, depth, .. } = entry;
    let mut label = format!("{id}\n");
    match (depth, state) {
        (0, _) => write!(label, "home")?,
        (_, State::Counting) => write!(label, "depth {depth}")?,
        (_, State::Zombie) => write!(label, "zombie, depth {depth}")?,
        (_, State::Relaying) => write!(label, "relay, depth {depth}")?,
    }
    write!(label, ", local {local}")?;
    match standing {
        Standing::Confirmed => {}
        Standing::Adopting { voluntary: true } => write!(label, "\nAdopting")?,
        Standing::Adopting { voluntary: false } => write!(label, "\nAdopting, in doubt")?,
        Standing::Suspect | Standing::Broken => write!(label, "\n{standing:?}")?,
    }
    for (peer, count) in children {
        write!(label, "\npassed on to {peer} ×{count}")?;
    }
    for (peer, count) in pins {
        write!(label, "\npinned by frames to {peer} ×{count}")?;
    }
    for (peer, deadline) in estate {
        write!(label, "\nestate of {peer} until {} ms", deadline.0)?;
    }
    Ok(label)
}

/// Homes are bold and zombies dashed; what is not `Confirmed` has a colour.
fn look(entry: &EntrySnapshot) -> String {
    let style = match (entry.depth, entry.state) {
        (0, _) => ", style=bold",
        (_, State::Zombie) => ", style=dashed",
        (_, State::Counting | State::Relaying) => "",
    };
    let colour = match entry.standing {
        Standing::Confirmed => "",
        Standing::Adopting { voluntary: true } => ", color=blue",
        Standing::Adopting { voluntary: false } | Standing::Suspect => ", color=orange",
        Standing::Broken => ", color=red",
    };
    format!("{style}{colour}")
}

fn all(snapshot: &Snapshot) -> Vec<&EntrySnapshot> {
    let mut all: Vec<_> = snapshot.exports.iter().chain(&snapshot.bridges).collect();
    all.sort_by_key(|entry| entry.id);
    all
}

impl Display for Place {
    /// The name of the box. In full, as the short names of two nodes may be the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, object } = self;
        write!(f, "\"{}@n{:x} at n{:x}\"", object.index, object.home.0, node.0)
    }
}

/// A string as DOT reads it.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                plain => f.write_char(plain)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped_and_lines_are_kept() {
        for (plain, quoted) in [
            ("n00000a", r#""n00000a""#),
            ("two\nlines", r#""two\nlines""#),
            (r#"a "name" \n"#, r#""a \"name\" \\n""#),
        ] {
            assert_eq!(Quoted(plain).to_string(), quoted);
        }
    }
}

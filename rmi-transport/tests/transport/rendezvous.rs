//! Two nodes that dial each other at once: every order in which it can happen is tried.

use std::collections::{HashSet, VecDeque};

use rmi_transport::{Refusal, Rendezvous, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Hello,
    Welcome,
    Go,
    /// The connection has ended, whether or not a refusal came first.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum End {
    NotYet,
    AwaitsHello,
    AwaitsWelcome,
    AwaitsGo,
    Open,
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    dialler: usize,
    /// The states at node 0 and at node 1, and the messages on their way to each.
    ends: [End; 2],
    to: [VecDeque<Message>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    incarnations: [u64; 2],
    nodes: [Rendezvous; 2],
    lines: Vec<Line>,
    losses_left: u32,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Dial { line: usize },
    Deliver { line: usize, to: usize },
    Lose { line: usize },
}

impl World {
    fn new(incarnations: [u64; 2], diallers: &[usize], losses_left: u32) -> Self {
        let line = |dialler: &usize| Line {
            dialler: *dialler,
            ends: [End::NotYet; 2],
            to: [VecDeque::new(), VecDeque::new()],
        };
        World {
            incarnations,
            nodes: incarnations.map(Rendezvous::new),
            lines: diallers.iter().map(line).collect(),
            losses_left,
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (line, state) in self.lines.iter().enumerate() {
            if state.ends == [End::NotYet; 2] {
                steps.push(Step::Dial { line });
                continue;
            }
            for to in [0, 1] {
                if !state.to[to].is_empty() {
                    steps.push(Step::Deliver { line, to });
                }
            }
            if self.losses_left > 0 && state.ends != [End::Closed; 2] {
                steps.push(Step::Lose { line });
            }
        }
        steps
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Dial { line } => {
                let Line { dialler, ends, to } = &mut self.lines[line];
                ends[*dialler] = End::AwaitsWelcome;
                ends[1 - *dialler] = End::AwaitsHello;
                to[1 - *dialler].push_back(Message::Hello);
            }
            Step::Deliver { line, to } => {
                let message = self.lines[line].to[to].pop_front().unwrap();
                self.receive(line, to, message);
            }
            Step::Lose { line } => {
                self.losses_left -= 1;
                for to in &mut self.lines[line].to {
                    *to = VecDeque::from([Message::End]);
                }
            }
        }
        for node in [0, 1] {
            let open = self.lines.iter().filter(|line| line.ends[node] == End::Open).count();
            assert!(open <= 1, "two connections at node {node} (W11): {self:#?}");
        }
    }

    fn receive(&mut self, line: usize, at: usize, message: Message) {
        let peer = self.incarnations[1 - at];
        let (node, token) = (&mut self.nodes[at], line as u64);
        match (self.lines[line].ends[at], message) {
            (End::Closed, _) => {}
            (End::AwaitsHello, Message::Hello) => match node.greeted(peer, token) {
                Verdict::Proceed => self.reply(line, at, End::AwaitsGo, Message::Welcome),
                Verdict::Refuse(reason) => {
                    assert_eq!(reason, Refusal::AlreadyConnected);
                    self.reply(line, at, End::Closed, Message::End);
                }
            },
            (End::AwaitsWelcome, Message::Welcome) => match node.welcomed(peer) {
                Verdict::Proceed => self.reply(line, at, End::Open, Message::Go),
                Verdict::Refuse(reason) => {
                    assert_eq!(reason, Refusal::Yielded);
                    self.reply(line, at, End::Closed, Message::End);
                }
            },
            (End::AwaitsGo, Message::Go) => {
                if node.confirmed(peer, token) {
                    self.lines[line].ends[at] = End::Open;
                } else {
                    self.reply(line, at, End::Closed, Message::End);
                }
            }
            (state, Message::End) => {
                match state {
                    End::AwaitsGo => node.abandoned(peer, token),
                    End::Open => node.closed(peer),
                    End::NotYet | End::AwaitsHello | End::AwaitsWelcome | End::Closed => {}
                }
                self.lines[line].ends[at] = End::Closed;
            }
            (state, message) => panic!("{message:?} in {state:?}: {self:#?}"),
        }
    }

    fn reply(&mut self, line: usize, from: usize, state: End, message: Message) {
        let line = &mut self.lines[line];
        line.ends[from] = state;
        if line.ends[1 - from] != End::Closed {
            line.to[1 - from].push_back(message);
        }
    }

    /// Nothing can happen any more: both have the same connection open, and nobody
    /// waits for anything.
    fn check_at_rest(mut self, one_expected: bool) {
        let mut open = 0;
        for line in &self.lines {
            assert!(
                matches!(line.ends, [End::Open, End::Open] | [End::Closed, End::Closed]),
                "the ends disagree, or one waits for ever (W11): {self:#?}"
            );
            open += usize::from(line.ends == [End::Open, End::Open]);
        }
        assert!(open <= 1, "several connections (W11): {self:#?}");
        assert!(open == 1 || !one_expected, "no connection (W11): {self:#?}");
        for at in [0, 1] {
            let peer = self.incarnations[1 - at];
            assert_eq!(self.nodes[at].is_open(peer), open == 1, "node {at}");
            self.nodes[at].closed(peer);
            assert_eq!(self.nodes[at], Rendezvous::new(self.incarnations[at]), "a mark is left");
        }
    }
}

/// Tries everything that can happen, and says in how many states the world can be.
fn explore(diallers: &[usize], losses: u32) -> usize {
    let mut seen = HashSet::new();
    let mut unexplored =
        vec![World::new([3, 8], diallers, losses), World::new([8, 3], diallers, losses)];
    while let Some(world) = unexplored.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        let steps = world.steps();
        if steps.is_empty() {
            world.clone().check_at_rest(losses == 0);
        }
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            unexplored.push(next);
        }
    }
    seen.len()
}

#[test]
fn two_that_dial_each_other_at_once_end_with_one_connection() {
    assert!(explore(&[0], 0) > 4);
    assert!(explore(&[0, 1], 0) > 50);
}

#[test]
fn two_that_dial_each_other_twice_at_once_end_with_one_connection() {
    assert!(explore(&[0, 0, 1], 0) > 300);
    assert!(explore(&[0, 0, 1, 1], 0) > 2_000);
}

#[test]
fn a_connection_that_is_lost_in_between_leaves_no_end_behind() {
    assert!(explore(&[0, 1], 2) > 100);
    assert!(explore(&[0, 0, 1], 1) > 500);
    assert!(explore(&[0, 0, 1, 1], 1) > 5_000);
}

#[test]
fn a_node_does_not_connect_to_itself() {
    let mut node = Rendezvous::new(5);
    assert_eq!(node.greeted(5, 1), Verdict::Refuse(Refusal::SelfConnection));
    assert_eq!(node.welcomed(5), Verdict::Refuse(Refusal::SelfConnection));
    assert_eq!(node, Rendezvous::new(5));
}

#[test]
fn the_late_end_of_one_connection_does_not_pass_for_the_end_of_another() {
    let mut node = Rendezvous::new(8);
    assert_eq!(node.greeted(3, 1), Verdict::Proceed);
    assert_eq!(node.greeted(3, 2), Verdict::Proceed);
    node.abandoned(3, 1);
    assert_eq!(node.welcomed(3), Verdict::Refuse(Refusal::Yielded), "the second is pending");
    assert!(!node.confirmed(3, 1), "the first was abandoned");
    assert!(node.confirmed(3, 2));
    node.abandoned(3, 2);
    assert!(node.is_open(3));
}

#[test]
fn peers_do_not_depend_on_each_other() {
    let mut node = Rendezvous::new(8);
    assert_eq!(node.greeted(3, 1), Verdict::Proceed);
    assert_eq!(node.welcomed(4), Verdict::Proceed);
    assert!(node.is_open(4) && !node.is_open(3));
    assert!(node.confirmed(3, 1));
}

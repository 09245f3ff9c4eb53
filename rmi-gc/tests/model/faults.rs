//! Planted faults, in the joints that a runtime has to get right. The model is only worth as much as it catches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rmi_gc::{Effects, Frame, News, NodeId, Notice, PeerMisbehaved};

use crate::space::Model;
use crate::world::{Action, Letter, World, next_incarnation};

/// What is done wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// Frames count as acknowledged when they are written: no pin holds, and meanings are forgotten at once.
    AcknowledgedEarly,
    /// A frame acknowledges what arrived after its references were named.
    AcknowledgementSampledLate,
    /// Releases are accounted before the references of the same frame.
    ReleasesBeforeReferences,
    /// A frame that is rolled back leaves its counts behind.
    NotTakenBack,
    /// The newest letter of a lane arrives first.
    Overtaking,
    /// A frame takes effect twice.
    DeliveredTwice,
    /// A frame with releases never arrives.
    Lost,
    /// A frame arrives before its references are counted.
    CountedLate,
    /// An estate may expire before what is under way has arrived.
    GraceTooShort,
    /// No child is told that its path is in doubt.
    RerootNotSent,
    /// A child that is told so does not tell its own children.
    RerootNotPassedOn,
    /// Whoever asks to be adopted is, whatever the key.
    AdoptedWithoutKey,
    /// A node that is back after a crash is taken for the one that it was before.
    SameIncarnation,
    /// Frames of a node that crashed are taken for those of the new incarnation.
    LateFramesTaken,
}

impl Model {
    /// Takes a step, wrongly if so set up. Assertions count as caught.
    pub(crate) fn step(&self, world: &mut World, action: &Action) -> Result<Effects, String> {
        let Some(fault) = self.setup.fault else {
            return world.step(action).map_err(|violation| violation.to_string());
        };
        catch_unwind(AssertUnwindSafe(|| faulty_step(fault, world, action)))
            .map_err(|_| String::from("an assertion failed"))?
            .map_err(|violation| violation.to_string())
    }
}

fn faulty_step(
    fault: Fault,
    world: &mut World,
    action: &Action,
) -> Result<Effects, PeerMisbehaved> {
    match (fault, action) {
        (Fault::Overtaking, Action::Deliver { from, to }) => {
            let lane = &mut world.link_mut(*from, *to).lane;
            lane.rotate_right(1);
        }
        (Fault::DeliveredTwice, Action::Deliver { from, to }) => {
            let lane = &mut world.link_mut(*from, *to).lane;
            let first = lane.front().cloned();
            lane.extend(first);
            lane.rotate_right(1);
            let _ = world.step(action)?;
        }
        (Fault::Lost, Action::Deliver { from, to }) => {
            let lane = &mut world.link_mut(*from, *to).lane;
            if let Some(Letter::Frame { frame, .. }) = lane.front()
                && !frame.releases.is_empty()
            {
                lane.pop_front();
                return Ok(Effects::default());
            }
        }
        (Fault::ReleasesBeforeReferences, Action::Deliver { from, to }) => {
            split_releases_off(world, *from, *to);
            if world.link(*from, *to).lane.len() > 1 {
                let _ = world.step(action)?;
            }
        }
        (Fault::CountedLate, Action::Write { from, to }) => {
            // The frame leaves, and the sender is as if it had not begun it.
            let before = world.node(*from).clone();
            let (draft, _) = world.link(*from, *to).draft.clone().expect("one was begun");
            let effects = world.step(action)?;
            *world.node_mut(*from) = before;
            let _ = world.node_mut(*from).roll_back(draft);
            return Ok(effects);
        }
        (Fault::NotTakenBack, Action::RollBack { from, to }) => {
            let (draft, _) = world.link_mut(*from, *to).draft.take().expect("one was begun");
            return Ok(world.node_mut(*from).abandon(draft));
        }
        (Fault::AdoptedWithoutKey, Action::Deliver { from, to }) => {
            if let Some(Letter::Guess(object)) = world.link(*from, *to).lane.front().cloned() {
                world.link_mut(*from, *to).lane.pop_front();
                let number = world.node(*to).received_from(*from).next();
                let notices = vec![Notice::Adopt { object }];
                return world
                    .node_mut(*to)
                    .receive(*from, &Frame { number, notices, ..Frame::default() });
            }
        }
        (Fault::SameIncarnation, Action::Restart { node }) => {
            world.dead.remove(node);
            world.node_mut(*node).export();
            return Ok(Effects::default());
        }
        _ => {}
    }
    let effects = world.step(action)?;
    after_step(fault, world, action);
    world.tidy();
    Ok(effects)
}

/// The faults that are done to what a step has posted.
fn after_step(fault: Fault, world: &mut World, action: &Action) {
    if let (Fault::LateFramesTaken, Action::Restart { node }) = (fault, action) {
        for peer in world.nodes().collect::<Vec<_>>() {
            let late = std::mem::take(&mut world.link_mut(*node, peer).lane);
            world.link_mut(next_incarnation(*node), peer).lane = late;
        }
    }
    let (Action::Send { from, to, .. } | Action::Write { from, to } | Action::Flush { from, to }) =
        action
    else {
        return;
    };
    let received = world.node(*from).received_from(*to);
    let bridges = world.node(*from).snapshot().bridges;
    let keeps_its_parent = bridges.iter().any(|bridge| bridge.parent.is_some());
    let Some(Letter::Frame { frame, .. }) = world.link_mut(*from, *to).lane.back_mut() else {
        return;
    };
    match fault {
        Fault::AcknowledgedEarly => {
            let number = frame.number;
            let effects = world.node_mut(*from).acknowledged(*to, number);
            world.freed.extend(effects.freed);
        }
        Fault::AcknowledgementSampledLate => frame.ack = received,
        Fault::RerootNotSent => frame.notices.retain(|notice| !is_reroot(notice)),
        Fault::RerootNotPassedOn if keeps_its_parent => {
            frame.notices.retain(|notice| !is_reroot(notice));
        }
        Fault::ReleasesBeforeReferences
        | Fault::NotTakenBack
        | Fault::Overtaking
        | Fault::DeliveredTwice
        | Fault::Lost
        | Fault::CountedLate
        | Fault::RerootNotPassedOn
        | Fault::AdoptedWithoutKey
        | Fault::SameIncarnation
        | Fault::LateFramesTaken
        | Fault::GraceTooShort => {}
    }
}

fn is_reroot(notice: &Notice) -> bool {
    matches!(notice, Notice::Path { news: News::Reroot, .. })
}

/// Makes two letters of the first: its releases, then its references.
fn split_releases_off(world: &mut World, from: NodeId, to: NodeId) {
    let lane = &mut world.link_mut(from, to).lane;
    let Some(Letter::Frame { frame, .. }) = lane.front_mut() else { return };
    if frame.releases.is_empty() || frame.references.is_empty() {
        return;
    }
    let mut releases = frame.clone();
    frame.releases.clear();
    releases.references.clear();
    releases.adopted.clear();
    releases.notices.clear();
    lane.push_front(Letter::Frame { frame: releases, meant: Vec::new() });
}

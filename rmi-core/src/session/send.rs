//! Writing frames: references are counted in the very step that queues the frame.

use std::sync::atomic::Ordering;

use rmi_gc::{CannotForward, ExportIndex, FrameNumber, ObjectId, Sent};
use rmi_transport::{Body, Description, FrameWriter, Head, Reference, TooLarge};
use smallvec::SmallVec;

use super::Session;
use crate::error::{Error, ErrorKind, Executed};
use crate::marshal::Message;
use crate::node::NodeInner;
use crate::reaper::{self, Deferral};
use crate::reference::{Identity, Untyped};

/// Releases that one frame carries at most.
const RELEASES_PER_FRAME_MAX: usize = 16_384;
/// Bytes of the longest row of the release table, and of what stands before the rows.
const RELEASE_BYTES_MAX: usize = 15;
const RELEASES_HEAD_BYTES_MAX: usize = 5;

impl Session {
    /// Puts a frame behind those that wait for the socket; [`Session::flush`] writes it.
    ///
    /// Each reference of the message is counted as it is written, then the message's own handles
    /// are dropped, then owed releases are taken: so the release of a reference whose last handle
    /// was in this message rides on this very frame.
    ///
    /// # Errors
    ///
    /// `TooLarge`, `Encode` for a reference of another node, `Disconnected` for one whose path to
    /// its home is lost or if the session has ended. In all cases `Executed::No`, and what was
    /// counted is taken back.
    pub(crate) fn send(&self, node: &NodeInner, body: Body, message: Message) -> Result<(), Error> {
        // Before the first lock: an object that is freed below is dropped behind the last.
        let _deferral = Deferral::begin();
        let Message { payload, references } = message;
        let written = self.connection.enqueue(|outgoing| {
            let (number, ack) = outgoing.session.next_frame();
            let frame = FrameNumber(number);
            let mut writer = outgoing.frames.begin(&Head { ack, wants_ack: false, body });
            let mut counted = Counted::new();
            let fits = self
                .count_all(node, &references, frame, &mut writer, &mut counted)
                .and_then(|()| writer.room(payload.as_slice().len()).map_err(too_large));
            let room = match fits {
                Ok(room) => room,
                Err(error) => {
                    drop(writer);
                    outgoing.session.roll_back(ack);
                    self.take_back(node, frame, counted);
                    return Err(error);
                }
            };
            drop(references);
            if self.put_releases(node, frame, room, &mut writer) || pins(&counted) {
                writer.want_ack();
            }
            Ok(writer.finish(payload.as_slice()).expect("it was seen to have room"))
        });
        match written {
            Some(Ok(bytes)) => {
                self.frames_sent.fetch_add(1, Ordering::Relaxed);
                node.stats.frames_sent.add(1);
                node.stats.bytes_sent.add(bytes as u64);
                Ok(())
            }
            Some(Err(error)) => Err(error.at_peer(&self.peer_name)),
            None => Err(self.ended().executed_as(Executed::No)),
        }
    }

    fn count_all(
        &self,
        node: &NodeInner,
        references: &[Untyped],
        frame: FrameNumber,
        writer: &mut FrameWriter<'_>,
        counted: &mut Counted,
    ) -> Result<(), Error> {
        for reference in references {
            self.count(node, reference, frame, writer, counted)
                .map_err(|reason| cannot_forward(reason, reference))?;
        }
        Ok(())
    }

    /// Takes the releases that fit; true if there were any.
    fn put_releases(
        &self,
        node: &NodeInner,
        frame: FrameNumber,
        room: usize,
        writer: &mut FrameWriter<'_>,
    ) -> bool {
        let releases_max = room.saturating_sub(RELEASES_HEAD_BYTES_MAX) / RELEASE_BYTES_MAX;
        let mut releases = 0;
        let put = |index: ExportIndex, count| {
            writer.release(index.0, count);
            releases += 1;
        };
        let releases_max = releases_max.min(RELEASES_PER_FRAME_MAX);
        self.ledger.lock().take_releases(frame, releases_max, put);
        if releases > 0 {
            node.stats.releases_sent.add(releases);
        }
        releases > 0
    }

    /// Counts one reference for the peer, and writes its row of the table.
    fn count(
        &self,
        node: &NodeInner,
        reference: &Untyped,
        frame: FrameNumber,
        writer: &mut FrameWriter<'_>,
        counted: &mut Counted,
    ) -> Result<(), NotSent> {
        if reference.node().id != node.id {
            return Err(NotSent::OfAnotherNode);
        }
        let id = reference.id();
        let (sent, identity) = node.table.sent(id, self.peer).map_err(NotSent::CannotForward)?;
        if sent == Sent::YoursByKey {
            self.ledger.lock().pinned(frame, id);
        }
        counted.push((id, sent));
        let kind = match sent {
            Sent::Described { index, depth } => {
                writer.described(&describe(node, &identity, index.0, depth));
                &node.stats.references_described
            }
            Sent::Known { index } => {
                writer.reference(&Reference::Known { index: index.0 });
                &node.stats.references_known
            }
            Sent::Yours { index } => {
                writer.reference(&Reference::Yours { index: index.0 });
                &node.stats.references_returned
            }
            Sent::YoursByKey => {
                let index = id.index.0;
                writer.reference(&Reference::YoursByKey { index, key: identity.key });
                &node.stats.references_returned
            }
        };
        kind.add(1);
        Ok(())
    }

    /// The frame never leaves: its references are uncounted, and nothing else.
    fn take_back(&self, node: &NodeInner, frame: FrameNumber, counted: Counted) {
        self.ledger.lock().unpin_rolled_back(frame);
        for (id, sent) in counted {
            node.stats.rolled_back.add(1);
            let freed =
                node.table.rolled_back(id, self.peer, sent, |release| node.sessions.owe(release));
            reaper::reap(freed);
        }
    }

    /// Sends what waits in the ledger on a frame of its own.
    pub(super) fn send_control(&self, node: &NodeInner) {
        if self.send(node, Body::Control, Message::default()).is_ok() {
            node.stats.control_frames_sent.add(1);
            self.flush_now();
        }
    }

    /// Does anything wait for a frame: releases, or an acknowledgement that the peer asked for?
    pub(super) fn owes_a_frame(&self) -> bool {
        self.ledger.lock().owes()
            || self.connection.enqueue(|outgoing| outgoing.session.ack_owed()).unwrap_or(false)
    }
}

type Counted = SmallVec<[(ObjectId, Sent); 2]>;

enum NotSent {
    OfAnotherNode,
    CannotForward(CannotForward),
}

fn cannot_forward(reason: NotSent, reference: &Untyped) -> Error {
    let error = match reason {
        NotSent::OfAnotherNode => {
            let (object, node) = (reference.id(), reference.node().id);
            let text = format!("the reference to {object} belongs to {node} of this process");
            Error::new(ErrorKind::Encode, text)
        }
        NotSent::CannotForward(reason) => {
            let text = format!("the message holds a reference to {}: {reason}", reference.id());
            Error::new(ErrorKind::Disconnected, text)
        }
    };
    error.executed_as(Executed::No)
}

fn describe(node: &NodeInner, identity: &Identity, index: u64, depth: u8) -> Description {
    let home = (identity.id.home != node.id).then_some(identity.id.home.0);
    let endpoints = identity.endpoints.iter().map(ToString::to_string);
    Description {
        index,
        home,
        object: identity.id.index.0,
        key: identity.key,
        interfaces: identity.interfaces.iter().map(|interface| interface.0).collect(),
        endpoints: if home.is_some() { endpoints.collect() } else { Vec::new() },
        depth,
    }
}

fn pins(counted: &Counted) -> bool {
    counted.iter().any(|(_, sent)| *sent == Sent::YoursByKey)
}

fn too_large(reason: TooLarge) -> Error {
    Error::new(ErrorKind::TooLarge, reason.to_string())
}

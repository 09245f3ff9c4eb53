//! Writing frames: references are counted in the very step that queues the frame.

use rmi_gc::{
    self as gc, CannotForward, ExportIndex, FrameNumber, Ledger, ObjectId, ObjectIndex, Sent,
};
use rmi_transport::sync::Ordering;
use rmi_transport::{
    Body, Call, Description, FrameWriter, Head, News, Notice, Reference, Target, TooLarge,
};
use smallvec::SmallVec;

use super::Session;
use crate::error::{Error, ErrorKind, Executed};
use crate::marshal::Message;
use crate::node::NodeInner;
use crate::reaper::{self, Deferral};
use crate::reference::{Identity, Untyped};

/// Releases that one frame carries at most.
const RELEASES_PER_FRAME_MAX: usize = 16_384;
const NOTICES_PER_FRAME_MAX: usize = 16_384;
/// Bytes of the longest row of the release table and of the notice table, and of what stands before
/// the rows.
const RELEASE_BYTES_MAX: usize = 15;
const NOTICE_BYTES_MAX: usize = 27;
const ROWS_HEAD_BYTES_MAX: usize = 5;
/// So many frames are sent before one asks to be acknowledged. They are kept until then.
const UNACKNOWLEDGED_UNASKED_MAX: u64 = 1_024;

impl Session {
    /// Puts a frame behind those that wait for the socket; [`Session::flush`] writes it.
    ///
    /// First comes what was adopted, which the references may rely on. Each reference of the
    /// message is counted as it is written; then notices are taken; then the message's own handles
    /// are dropped, and owed releases taken: so the release of a reference whose last handle was
    /// in this message rides on this very frame.
    ///
    /// Returns the frame's number. The message's references have gone with it.
    ///
    /// # Errors
    ///
    /// [`Unsent`]; what was counted is taken back, and the message is as it was.
    pub(crate) fn send(
        &self,
        node: &NodeInner,
        body: Body,
        message: &mut Message,
    ) -> Result<u64, Unsent> {
        // Before the first lock: an object that is freed below is dropped behind the last.
        let _deferral = Deferral::begin();
        let Message { payload, references } = message;
        let called = called_by_key(&body);
        let written = self.link.enqueue(|outgoing| {
            let unread = outgoing.numbering.unacknowledged() >= UNACKNOWLEDGED_UNASKED_MAX
                || !self.has_ample_room();
            let (number, ack) = outgoing.numbering.next_frame();
            let frame = FrameNumber(number);
            let mut writer = outgoing.frames.begin(&Head { ack, wants_ack: unread, body });
            let mut counted = Counted::new();
            // In front of the references, which may name what was adopted by its index.
            let noted = self.has_notices.swap(false, Ordering::AcqRel);
            let adopted = if noted { self.put_adopted(&mut writer) } else { Vec::new() };
            let fits = self
                .count_all(node, references, frame, &mut writer, &mut counted)
                .and_then(|()| writer.room(payload.as_slice().len()).map_err(too_large));
            let mut room = match fits {
                Ok(room) => room,
                Err(unsent) => {
                    drop(writer);
                    outgoing.numbering.roll_back(ack);
                    self.take_back(node, frame, counted);
                    if noted {
                        self.take_back_adopted(adopted);
                    }
                    return Err(unsent);
                }
            };
            if noted {
                self.stats.adopted_sent.add(adopted.len() as u64);
                room = self.put_notices(called, room, &mut writer);
            }
            references.clear();
            if self.put_releases(frame, room, &mut writer) || pins(&counted) {
                writer.want_ack();
            }
            self.stats.collector_bytes_sent.add(writer.table_bytes() as u64);
            let bytes = writer.finish(payload.as_slice()).expect("it was seen to have room");
            Ok((number, bytes))
        });
        match written {
            Some(Ok((number, bytes))) => {
                self.stats.frames_sent.add(1);
                self.stats.bytes_sent.add(bytes as u64);
                Ok(number)
            }
            Some(Err(Unsent::NotYet)) => Err(Unsent::NotYet),
            Some(Err(Unsent::Failed(error))) => Err(Unsent::Failed(error.at_peer(&self.peer_name))),
            None => Err(Unsent::Failed(self.ended().executed_as(Executed::No))),
        }
    }

    /// Confirms all adoptions; there are never more than fit in any frame.
    fn put_adopted(&self, writer: &mut FrameWriter<'_>) -> Vec<ObjectId> {
        let adopted = self.ledger.lock().take_adopted();
        for object in &adopted {
            writer.notice(&Notice::Adopted { index: object.index.0 });
        }
        adopted
    }

    fn take_back_adopted(&self, adopted: Vec<ObjectId>) {
        let mut ledger = self.ledger.lock();
        adopted.into_iter().for_each(|object| ledger.owe_adopted(object));
        self.has_notices.store(true, Ordering::Release);
    }

    /// Puts what else is to be said of who holds what; gives the room that is left.
    fn put_notices(
        &self,
        called: Option<ObjectIndex>,
        room: usize,
        writer: &mut FrameWriter<'_>,
    ) -> usize {
        let notices_max = room.saturating_sub(ROWS_HEAD_BYTES_MAX) / NOTICE_BYTES_MAX;
        let notices_max = notices_max.min(NOTICES_PER_FRAME_MAX);
        let mut ledger = self.ledger.lock();
        let mut rows = 0;
        for notice in ledger.take_notices(notices_max) {
            rows += 1;
            match notice {
                gc::Notice::Adopt { object } => {
                    self.stats.adopts_sent.add(1);
                    match ledger.asked(object) {
                        Some(_) if called == Some(object.index) => writer.adopt_caller(),
                        Some(identity) => {
                            let (index, key) = (object.index.0, identity.key);
                            writer.notice(&Notice::Adopt { index, key });
                        }
                        None => debug_assert!(false, "what is asked for is remembered"),
                    }
                }
                gc::Notice::Gone { object } => {
                    self.stats.gone_sent.add(1);
                    writer.notice(&Notice::Gone { index: object.index.0 });
                }
                gc::Notice::Path { index, news } => {
                    self.stats.path_news_sent.add(1);
                    let news = match news {
                        gc::News::Reroot => News::Reroot,
                        gc::News::Confirm => News::Confirm,
                        gc::News::Leaving => News::Leaving,
                    };
                    writer.notice(&Notice::Path { index: index.0, news });
                }
            }
        }
        if ledger.has_notices() {
            self.has_notices.store(true, Ordering::Release);
        }
        room.saturating_sub(ROWS_HEAD_BYTES_MAX + rows * NOTICE_BYTES_MAX)
    }

    fn count_all(
        &self,
        node: &NodeInner,
        references: &[Untyped],
        frame: FrameNumber,
        writer: &mut FrameWriter<'_>,
        counted: &mut Counted,
    ) -> Result<(), Unsent> {
        for reference in references {
            self.count(node, reference, frame, writer, counted)
                .map_err(|reason| cannot_forward(reason, reference))?;
        }
        Ok(())
    }

    /// Takes the releases that fit; true if there were any.
    fn put_releases(&self, frame: FrameNumber, room: usize, writer: &mut FrameWriter<'_>) -> bool {
        let releases_max = room.saturating_sub(ROWS_HEAD_BYTES_MAX) / RELEASE_BYTES_MAX;
        let mut releases = 0;
        let put = |index: ExportIndex, count| {
            writer.release(index.0, count);
            releases += 1;
        };
        let releases_max = releases_max.min(RELEASES_PER_FRAME_MAX);
        self.ledger.lock().take_releases(frame, releases_max, put);
        if releases > 0 {
            self.stats.releases_sent.add(releases);
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
                &self.stats.references_described
            }
            Sent::Known { index } => {
                writer.reference(&Reference::Known { index: index.0 });
                &self.stats.references_known
            }
            Sent::Yours { index } => {
                writer.reference(&Reference::Yours { index: index.0 });
                &self.stats.references_returned
            }
            Sent::YoursByKey => {
                let index = id.index.0;
                writer.reference(&Reference::YoursByKey { index, key: identity.key });
                &self.stats.references_returned
            }
        };
        kind.add(1);
        Ok(())
    }

    /// The frame never leaves: its references are uncounted, and nothing else.
    fn take_back(&self, node: &NodeInner, frame: FrameNumber, counted: Counted) {
        self.ledger.lock().unpin_rolled_back(frame);
        for (id, sent) in counted {
            self.stats.rolled_back.add(1);
            let freed = node.table.rolled_back(id, self.peer, sent, &node.sessions);
            reaper::reap(freed);
        }
    }

    /// Sends what waits in the ledger on a frame of its own. False if the session has ended.
    pub(crate) fn send_control(&self, node: &NodeInner) -> bool {
        if self.send(node, Body::Control, &mut Message::default()).is_ok() {
            self.stats.control_frames_sent.add(1);
            self.flush_now();
            return true;
        }
        false
    }

    pub(crate) fn owes_releases(&self) -> bool {
        self.ledger.lock().owes()
    }

    /// Does anything wait for a frame: releases, notices, or an acknowledgement that the peer asked
    /// for?
    pub(super) fn owes_a_frame(&self) -> bool {
        let waits = |ledger: &Ledger<_>| ledger.owes() || ledger.has_notices();
        waits(&self.ledger.lock())
            || self.link.number(|numbering| numbering.ack_owed()).unwrap_or(false)
    }
}

type Counted = SmallVec<[(ObjectId, Sent); 2]>;

enum NotSent {
    OfAnotherNode,
    CannotForward(CannotForward),
}

/// Why a frame was not sent. Nothing of it has left, and nothing is counted.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// A reference in it may not be passed on now, and may be soon: the sender waits
    /// ([`NodeInner::may_pass_on`]) and tries again.
    NotYet,
    /// `TooLarge`, `Encode` for a reference of another node, `Disconnected` for one whose path to
    /// its home is lost or if the session has ended. In all cases `Executed::No`.
    Failed(Error),
}

impl Unsent {
    /// As the error of one who does not wait.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Unsent::Failed(error) => error,
            Unsent::NotYet => {
                let text = "the message holds a reference whose path to its home is in doubt";
                Error::new(ErrorKind::Disconnected, text).executed_as(Executed::No)
            }
        }
    }
}

/// The object that a call names by its key: if it is to adopt us, the call says so.
fn called_by_key(body: &Body) -> Option<ObjectIndex> {
    match body {
        Body::Call(Call { target: Target::Object { index, .. }, .. }) => Some(ObjectIndex(*index)),
        Body::Call(_)
        | Body::Answer { .. }
        | Body::Cancel { .. }
        | Body::Control
        | Body::Goodbye { .. } => None,
    }
}

fn cannot_forward(reason: NotSent, reference: &Untyped) -> Unsent {
    let error = match reason {
        NotSent::CannotForward(CannotForward::Suspect) => return Unsent::NotYet,
        NotSent::OfAnotherNode => {
            let (object, node) = (reference.id(), reference.node().id);
            let text = format!("the reference to {object} belongs to {node} of this process");
            Error::new(ErrorKind::Encode, text)
        }
        NotSent::CannotForward(reason @ CannotForward::Broken) => {
            let text = format!("the message holds a reference to {}: {reason}", reference.id());
            Error::new(ErrorKind::Disconnected, text)
        }
    };
    Unsent::Failed(error.executed_as(Executed::No))
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

fn too_large(reason: TooLarge) -> Unsent {
    let error = Error::new(ErrorKind::TooLarge, reason.to_string());
    Unsent::Failed(error.executed_as(Executed::No))
}

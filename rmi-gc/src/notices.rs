//! What else than releases is owed to a peer, and what it was asked.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ExportIndex, News, Notice, ObjectId, PeerMisbehaved};

/// Adoptions that were asked for and not answered, and what waits to be written.
///
/// What waits belongs to no frame before that frame is written: one that is rolled back has taken nothing from here.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Notices<D> {
    /// What is remembered of each object until the answer: the peer may name it without describing it from then on.
    asked: BTreeMap<ObjectId, D>,
    /// Adoptions by us that the peer does not know of yet, one item for each.
    adopted: Vec<ObjectId>,
    owed: BTreeSet<Notice>,
    news: BTreeMap<ExportIndex, News>,
}

impl<D: Clone> Notices<D> {
    pub(crate) fn new() -> Self {
        Self {
            asked: BTreeMap::new(),
            adopted: Vec::new(),
            owed: BTreeSet::new(),
            news: BTreeMap::new(),
        }
    }

    pub(crate) fn ask(&mut self, object: ObjectId, what: D) {
        if self.asked.insert(object, what).is_none() {
            self.owed.insert(Notice::Adopt { object });
        }
    }

    pub(crate) fn asked(&self, object: ObjectId) -> Option<&D> {
        self.asked.get(&object)
    }

    pub(crate) fn unanswered(&self) -> usize {
        self.asked.len()
    }

    pub(crate) fn answered(&mut self, object: ObjectId) -> Result<D, PeerMisbehaved> {
        if self.owed.contains(&Notice::Adopt { object }) {
            // It was not written yet, so that nobody can have read it.
            return Err(PeerMisbehaved::NotAsked(object));
        }
        self.asked.remove(&object).ok_or(PeerMisbehaved::NotAsked(object))
    }

    pub(crate) fn owe_adopted(&mut self, object: ObjectId) {
        self.adopted.push(object);
    }

    pub(crate) fn owe(&mut self, notice: Notice) {
        self.owed.insert(notice);
    }

    pub(crate) fn tell(&mut self, index: ExportIndex, news: News) {
        match news {
            News::Reroot | News::Confirm => {
                self.news.insert(index, news);
            }
            // A wish is no reason to forget a warning, or to leave one standing.
            News::Leaving => {
                self.news.entry(index).or_insert(news);
            }
        }
    }

    pub(crate) fn owed_adopted(&self) -> usize {
        self.adopted.len()
    }

    pub(crate) fn take_adopted(&mut self) -> Vec<ObjectId> {
        std::mem::take(&mut self.adopted)
    }

    pub(crate) fn take(&mut self, max: usize) -> Vec<Notice> {
        let mut taken = Vec::new();
        while taken.len() < max {
            let path = |(index, news)| Notice::Path { index, news };
            let next = self.owed.pop_first().or_else(|| self.news.pop_first().map(path));
            let Some(notice) = next else { break };
            taken.push(notice);
        }
        taken
    }

    pub(crate) fn wait_to_be_written(&self) -> bool {
        !(self.adopted.is_empty() && self.owed.is_empty() && self.news.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty() && !self.wait_to_be_written()
    }
}

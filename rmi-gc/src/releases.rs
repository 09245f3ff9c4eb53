//! Releases that are owed to a peer and not yet written.

use std::collections::BTreeMap;

use crate::ExportIndex;

/// Owed releases, merged per index.
///
/// Mostly there is one at a time: a reference comes with a call, and its release goes with the answer. That one is kept
/// beside the map, so that the way of a call allocates nothing here.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Releases {
    /// The only one there is; `many` is empty then.
    single: Option<(ExportIndex, u32)>,
    many: BTreeMap<ExportIndex, u32>,
    /// Where to go on when a frame had no room for all: taken in turn, no index waits for ever behind busier ones.
    next: ExportIndex,
}

impl Releases {
    pub(crate) fn new() -> Self {
        Self { single: None, many: BTreeMap::new(), next: ExportIndex(0) }
    }

    pub(crate) fn owe(&mut self, index: ExportIndex, count: u32) {
        if self.is_empty() {
            self.single = Some((index, count));
            return;
        }
        // Sums never exceed what was received, which is counted in as many bits.
        match &mut self.single {
            Some((single, owed)) if *single == index => *owed = owed.saturating_add(count),
            single => {
                self.many.extend(single.take());
                let owed = self.many.entry(index).or_default();
                *owed = owed.saturating_add(count);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.single.is_none() && self.many.is_empty()
    }

    pub(crate) fn indices(&self) -> usize {
        usize::from(self.single.is_some()) + self.many.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ExportIndex, u32)> {
        let many = self.many.iter().map(|(index, count)| (*index, *count));
        self.single.into_iter().chain(many)
    }

    pub(crate) fn take_next(&mut self) -> Option<(ExportIndex, u32)> {
        if let Some(single) = self.single.take() {
            return Some(single);
        }
        let ahead = self.many.range(self.next..).next();
        let (&index, &count) = ahead.or_else(|| self.many.first_key_value())?;
        self.many.remove(&index);
        self.next = if self.many.is_empty() {
            ExportIndex(0)
        } else {
            ExportIndex(index.0.wrapping_add(1))
        };
        Some((index, count))
    }
}

//! Releases that are owed to a peer and not yet written.

use std::collections::BTreeMap;

use crate::ExportIndex;

/// Owed releases, merged per index.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Releases {
    owed: BTreeMap<ExportIndex, u32>,
    /// Where to go on when a frame had no room for all: taken in turn, no index waits for ever behind busier ones.
    next: ExportIndex,
}

impl Releases {
    pub(crate) fn new() -> Self {
        Self { owed: BTreeMap::new(), next: ExportIndex(0) }
    }

    pub(crate) fn owe(&mut self, index: ExportIndex, count: u32) {
        let owed = self.owed.entry(index).or_default();
        // Never more than were received, which are counted in as many bits.
        *owed = owed.saturating_add(count);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owed.is_empty()
    }

    pub(crate) fn indices(&self) -> usize {
        self.owed.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ExportIndex, u32)> {
        self.owed.iter().map(|(index, count)| (*index, *count))
    }

    pub(crate) fn take_next(&mut self) -> Option<(ExportIndex, u32)> {
        let ahead = self.owed.range(self.next..).next();
        let (&index, &count) = ahead.or_else(|| self.owed.first_key_value())?;
        self.owed.remove(&index);
        self.next = if self.owed.is_empty() {
            ExportIndex(0)
        } else {
            ExportIndex(index.0.wrapping_add(1))
        };
        Some((index, count))
    }
}

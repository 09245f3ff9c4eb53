//! Who could not reach whom, and for how long: what excuses the loss of a reference.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::network::Place;

/// From when on, and until when if it is over.
type Span = (Instant, Option<Instant>);

#[derive(Default)]
pub(crate) struct Outages {
    blocked: Mutex<BTreeMap<(Place, Place), Vec<Span>>>,
    suspended: Mutex<BTreeMap<Place, Vec<Span>>>,
}

/// Without a direction.
fn pair(one: Place, two: Place) -> (Place, Place) {
    (one.min(two), one.max(two))
}

fn begin(spans: &mut Vec<Span>) {
    if spans.last().is_none_or(|(_, end)| end.is_some()) {
        spans.push((Instant::now(), None));
    }
}

fn end(spans: &mut [Span]) {
    if let Some((_, end @ None)) = spans.last_mut() {
        *end = Some(Instant::now());
    }
}

/// How much of the time since `since` the spans cover.
fn length(spans: &[Span], since: Instant) -> Duration {
    let now = Instant::now();
    let within =
        |(from, until): &Span| until.unwrap_or(now).saturating_duration_since(*from.max(&since));
    spans.iter().map(within).sum()
}

impl Outages {
    pub(crate) fn blocked(&self, one: Place, two: Place) {
        begin(self.blocked.lock().entry(pair(one, two)).or_default());
    }

    pub(crate) fn unblocked(&self, one: Place, two: Place) {
        end(self.blocked.lock().entry(pair(one, two)).or_default());
    }

    pub(crate) fn suspended(&self, place: Place) {
        begin(self.suspended.lock().entry(place).or_default());
    }

    pub(crate) fn resumed(&self, place: Place) {
        end(self.suspended.lock().entry(place).or_default());
    }

    /// For how long, since then, the two could not talk, or the first could do nothing.
    pub(crate) fn cut_off(&self, holder: Place, home: Place, since: Instant) -> Duration {
        let blocked = self.blocked.lock();
        let suspended = self.suspended.lock();
        let spans = blocked.get(&pair(holder, home)).map_or(&[][..], Vec::as_slice);
        let still = suspended.get(&holder).map_or(&[][..], Vec::as_slice);
        length(spans, since) + length(still, since)
    }
}

//! What happened in a world, to be read, and to be compared.

use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines with the virtual time, in milliseconds since the world began.
pub(crate) struct Trace {
    began: Instant,
    lines: Mutex<Vec<String>>,
    /// Of all lines.
    hash: Mutex<DefaultHasher>,
    keeps: bool,
}

impl Trace {
    /// Keeps its lines, to be printed, or only their hash.
    pub(crate) fn new(keeps: bool) -> Self {
        let hash = Mutex::new(DefaultHasher::new());
        Self { began: Instant::now(), lines: Mutex::default(), hash, keeps }
    }

    pub(crate) fn note(&self, what: impl fmt::Display) {
        let line = format!("{:>6} ms  {what}", self.began.elapsed().as_millis());
        line.hash(&mut *self.hash.lock());
        if self.keeps {
            self.lines.lock().push(line);
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash.lock().finish()
    }

    pub(crate) fn text(&self) -> String {
        self.lines.lock().join("\n")
    }
}

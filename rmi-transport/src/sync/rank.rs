//! The order of all our locks, and the check that it is kept.
//!
//! With debug assertions, each thread knows which ranks it holds. Taking a lock that does not stand
//! below all of them panics, whether or not anybody holds it just then; so does running user code
//! while any is held. Without debug assertions nothing is known, and nothing is done.

/// The place of a lock in the order; see [`ranks`](self).
pub trait Rank: 'static {
    /// The smaller, the earlier it is taken.
    const PLACE: u8;
    /// How a violation names it.
    const NAME: &'static str;
}

/// Declares the ranks, in their order.
macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        enum Place { $($name,)* }

        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl Rank for $name {
                const PLACE: u8 = Place::$name as u8;
                const NAME: &'static str = stringify!($name);
            }
        )*
    };
}

ranks! {
    /// The turnover of a session: while a peer is given up, no new session with it begins.
    Turnover,
    /// The one export at a time.
    Exporting,
    /// A link's sending half: a frame is written, and what it carries is counted.
    Outgoing,
    /// A link's reading half.
    Incoming,
    /// A shard of the table.
    Entries,
    /// A shard of one of the table's indices.
    Indices,
    /// A shard of the session map.
    Sessions,
    /// A session's ledger.
    Ledger,
    /// All that is taken and let go with nothing taken under it: slots, lists, a registered waker.
    Alone,
}

/// While it lives, this thread holds a lock of some rank.
#[must_use = "the lock is held for as long as this lives"]
pub struct Held {
    _checked: checked::Held,
}

impl Held {
    /// This thread is about to wait for a lock of rank `R`.
    ///
    /// # Panics
    ///
    /// With debug assertions: if it holds one that does not stand above.
    #[inline]
    pub fn take<R: Rank>() -> Self {
        Self { _checked: checked::Held::take(R::PLACE, R::NAME) }
    }
}

/// User code is about to run: nothing of ours may be locked.
///
/// # Panics
///
/// With debug assertions: if this thread holds any of our locks.
#[inline]
#[track_caller]
pub fn assert_unlocked(what: &str) {
    checked::assert_unlocked(what);
}

/// How many times this process has complained so far: a panic can get lost in a task. None without
/// debug assertions.
pub fn complaints() -> usize {
    checked::complaints()
}

#[cfg(not(debug_assertions))]
mod checked {
    pub(super) struct Held;

    impl Held {
        #[inline]
        pub(super) fn take(_: u8, _: &'static str) -> Self {
            Held
        }
    }

    #[inline]
    pub(super) fn assert_unlocked(_: &str) {}

    pub(super) fn complaints() -> usize {
        0
    }
}

#[cfg(debug_assertions)]
mod checked {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::sync::thread_local;

    static COMPLAINTS: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        /// What this thread holds, in the order in which it was taken.
        static HELD: RefCell<Vec<(u8, &'static str)>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) struct Held(u8);

    impl Held {
        #[track_caller]
        pub(super) fn take(place: u8, name: &'static str) -> Self {
            // A thread that is ending has no list any more, and nothing is checked there.
            let above = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                let above = held.iter().find(|(above, _)| *above >= place).copied();
                held.push((place, name));
                above
            });
            let held = Self(place);
            if let Ok(Some((_, above))) = above {
                complain(&format!("the lock of {name} is taken under that of {above}"));
            }
            held
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // Guards need not be dropped in the reverse order.
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                if let Some(at) = held.iter().rposition(|(place, _)| *place == self.0) {
                    held.remove(at);
                }
            });
        }
    }

    #[track_caller]
    pub(super) fn assert_unlocked(what: &str) {
        let held = HELD.try_with(|held| held.borrow().last().copied());
        if let Ok(Some((_, name))) = held {
            complain(&format!("{what} under the lock of {name}"));
        }
    }

    pub(super) fn complaints() -> usize {
        COMPLAINTS.load(Ordering::Relaxed)
    }

    #[track_caller]
    fn complain(what: &str) {
        COMPLAINTS.fetch_add(1, Ordering::Relaxed);
        // A second panic would hide the first.
        if !std::thread::panicking() {
            panic!("{what}: see rmi_transport::sync::rank");
        }
    }
}

#[cfg(all(test, debug_assertions, not(shuttle)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::sync::Mutex;

    /// What `act` panics with, if it does.
    fn complaint(act: impl FnOnce()) -> Option<String> {
        let panic = catch_unwind(AssertUnwindSafe(act)).err()?;
        panic.downcast_ref::<String>().cloned()
    }

    #[test]
    fn locks_are_taken_in_their_order_and_let_go_in_any() {
        let (first, second) = (Mutex::<_, Entries>::new(()), Mutex::<_, Ledger>::new(()));
        let (held_first, held_second) = (first.lock(), second.lock());
        drop(held_first);
        drop(held_second);
        let _again = first.lock();
    }

    #[test]
    fn an_inversion_is_noticed_though_nobody_is_in_the_way() {
        let (first, second) = (Mutex::<_, Entries>::new(()), Mutex::<_, Ledger>::new(()));
        let inverted = complaint(|| {
            let _second = second.lock();
            let _first = first.lock();
        });
        let inverted = inverted.expect("it is an inversion");
        assert!(inverted.contains("lock of Entries is taken under that of Ledger"), "{inverted}");
        // The unwinding has let both go.
        assert_eq!(complaint(|| drop((first.lock(), second.lock()))), None);
    }

    #[test]
    fn two_locks_of_one_rank_do_not_nest() {
        let (one, other) = (Mutex::<_, Ledger>::new(()), Mutex::<_, Ledger>::new(()));
        let both = complaint(|| {
            let _one = one.lock();
            let _other = other.lock();
        });
        assert!(both.is_some());
    }

    #[test]
    fn user_code_under_a_lock_is_noticed() {
        assert_unlocked("nothing is held, and this");
        let lock = Mutex::<()>::default();
        let held = complaint(|| {
            let _held = lock.lock();
            assert_unlocked("an object is dropped");
        });
        let held = held.expect("a lock is held");
        assert!(held.contains("an object is dropped under the lock of Alone"), "{held}");
        assert!(complaints() > 0);
    }
}

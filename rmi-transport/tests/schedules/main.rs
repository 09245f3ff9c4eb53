//! Links under one schedule after the other: built with `--cfg shuttle`, and empty otherwise.
//!
//! `RUSTFLAGS='--cfg shuttle' cargo test -p rmi-transport --test schedules`; how to replay one that
//! fails says `rmi_transport::sync::explore`.
#![cfg(shuttle)]

mod ends;
mod links;

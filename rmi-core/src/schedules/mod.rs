//! The shell under one schedule after the other: built with `--cfg shuttle`, and empty otherwise.
//!
//! `RUSTFLAGS='--cfg shuttle' cargo test -p rmi-core --lib schedules`; how to replay one that fails
//! says `rmi_transport::sync::explore`. The unit tests beside these need a runtime, and cannot run
//! in such a build.

mod bridges;
mod fixtures;
mod homes;
mod nodes;
mod notes;
mod sessions;

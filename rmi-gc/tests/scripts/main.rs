//! Whole situations with their transcripts, to be read and reviewed as such.
//!
//! `UPDATE_EXPECT=1 cargo test -p rmi-gc --test scripts` writes them anew.

mod adoption;
mod doubt;
mod passing;
mod restart;
mod script;
mod trouble;
#[path = "../world/mod.rs"]
mod world;

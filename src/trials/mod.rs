//! Trials: programs that are built, timed and stored.
//!
//! ```text
//! manifest ─▶ plan ─▶ built (many at once) ─▶ timed (one at a time) ─▶ journal ─▶ store
//!               ▲                                   │
//!               └────────── what came of it ────────┘
//! ```
//!
//! A run is a stream of the store: its records are lines of the dataset `measured`. Each is on the
//! local disk, in the run's journal, before the next kernel is timed, and in the store after the next
//! commit, for which timing pauses. A journal that a killed run left is sent again as a whole: what
//! the store has of it is left out, so every finished measurement is stored once.

pub(crate) mod elsewhere;
pub(crate) mod exec;
pub(crate) mod known;
mod line;
mod loaded;
pub(crate) mod plan;
pub(crate) mod repeat;
pub(crate) mod run;
pub(crate) mod sink;

pub(crate) use loaded::{Item, Loaded};

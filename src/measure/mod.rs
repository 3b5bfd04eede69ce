//! Measuring: a program becomes kernels, a kernel becomes timings. On Linux.
//!
//! ```text
//! manifest ─▶ space ─▶ search ─▶ Trial ─▶ cc ─▶ runner ─▶ worker (a process each): limits, timing ─▶ Outcome
//!                                      └▶ cuda: NVRTC ─▶ worker (one for each GPU) ──────────────┘
//! machine (what stays), conditions (what changes), doctor (what would spoil timings)
//! journal (what was measured, until it is stored), rerun (what has changed since)
//! ```
//!
//! Knows nothing of stores. A failure of a kernel is an outcome; a fault of the machine is an error,
//! and no record is made of it.

pub(crate) mod manifest;
pub(crate) mod search;
pub(crate) mod space;
pub(crate) mod templates;
pub(crate) mod trial;

mod expr;

pub(crate) mod cc;
pub(crate) mod confined;
pub(crate) mod cuda;
pub(crate) mod runner;
pub(crate) mod timing;
pub(crate) mod worker;

mod arguments;
mod clock;
mod compare;
mod ending;
mod environment;
mod flags;
mod job;
mod library;
mod limits;
mod memory;
mod process;
mod readable;
mod reference;
mod sandbox;
mod schedule;
mod shim;
mod values;

pub(crate) mod conditions;
pub(crate) mod cores;
pub(crate) mod doctor;
pub(crate) mod journal;
pub(crate) mod machine;
pub(crate) mod median;
pub(crate) mod rerun;

mod attempts;
mod root;

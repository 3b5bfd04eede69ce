#![doc = include_str!("../README.md")]
//!
//! # How it flows
//!
//! ```text
//! manifest ─▶ space ─▶ search ─▶ Trial ─▶ cc ─▶ runner ─▶ worker (a process each): limits, timing ─▶ Outcome
//!                                      └▶ cuda: NVRTC ─▶ worker (one for each GPU) ──────────────┘
//! machine (what stays), conditions (what changes), doctor (what would spoil timings)
//! journal (what was measured, until it is stored), rerun (what has changed since)
//! ```
//!
//! Knows nothing of stores. A failure of a kernel is an outcome; a fault of the machine is an error,
//! and no record is made of it. Workers and compilers are processes of the same program: whoever uses this
//! crate calls [`backends::serve`] with its arguments before all else.
#![cfg(target_os = "linux")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

pub mod manifest;
pub mod search;
pub mod space;
pub mod templates;
pub mod trial;

mod expr;

pub mod backends;
mod cc;
pub mod confined;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "cuda/absent.rs"]
mod cuda;
pub mod device;
pub mod hosted;
mod launches;
mod runner;
mod timing;
mod worker;

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

pub mod conditions;
mod cores;
pub mod doctor;
pub mod journal;
pub mod machine;

mod attempts;
mod error;
mod root;

pub use error::{Error, Result};
pub use process::interrupt;

#![doc = include_str!("../README.md")]
//!
//! # Data flow
//!
//! ```text
//! manifest ─▶ space ─▶ search ─▶ Trial ─▶ cc ─▶ runner ─▶ worker (a process each): limits, timing ─▶ Outcome
//!                                      └▶ cuda: NVRTC ─▶ worker (one for each GPU) ──────────────┘
//! machine (constant facts), conditions (changing state), doctor (checks for distorted timings)
//! journal (measurements that are not stored yet)
//! ```
//!
//! This crate does not depend on stores. A failure of a kernel is an outcome. A fault of the machine is an
//! error, and no record is written for it. Workers and compilers are processes of the same program: users
//! of this crate must call [`backends::serve_process`] with its arguments first.
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
pub mod callbacks;
mod cc;
pub mod compiler_sandbox;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "cuda/absent.rs"]
mod cuda;
pub mod device;
mod launch_timing;
mod runner;
mod timing;
mod worker;

mod buffers;
mod clock;
mod compare;
mod environment;
mod flags;
mod guarded_buffer;
mod job;
mod library;
mod limits;
mod process;
mod readable_paths;
mod reference;
mod sandbox;
mod schedule;
mod shim;
mod values;
mod worker_result;

pub mod conditions;
mod cores;
pub mod doctor;
pub mod journal;
pub mod machine;

mod error;
mod fs_root;
mod syscalls;

pub use error::{Error, Result};
pub use process::interrupt;

#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

pub mod compare;
pub mod features;
pub mod graphnet;
pub mod metaschedule;
mod plot_file;
pub mod publish;
pub mod replay;
pub mod score;
pub mod splits;
pub mod tpugraphs;
pub mod training;
pub mod trend;

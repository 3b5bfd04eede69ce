#![doc = include_str!("../README.md")]
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

pub mod blocks;
pub mod calibration;
pub mod change_points;
pub mod common_shift;
pub mod floor;
pub mod floor_classes;
mod moments;
pub mod overall;
pub mod pair_selection;
pub mod run_test;
pub mod sequential;
pub mod verdict;

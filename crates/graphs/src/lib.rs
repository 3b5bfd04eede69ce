#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "a test fails by panicking"
    )
)]

mod neighbours;

mod blocks;
mod near;
mod operations;
mod segments;

pub use blocks::{Block, Use, blocks};
pub use near::near;
pub use neighbours::Neighbours;
pub use operations::{OPERATIONS, operation_place};
pub use segments::{Member, segments};

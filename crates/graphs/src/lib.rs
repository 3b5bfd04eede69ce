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

pub use blocks::{Block, NodeInput, find_blocks};
pub use near::nodes_within;
pub use neighbours::Neighbours;
pub use operations::{OPERATIONS, operation_index};
pub use segments::{SegmentNode, split_into_segments};

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

pub mod bits;
pub mod cost;
pub mod hlo;
pub mod identity;
pub mod json;
pub mod number;
pub mod varint;

pub mod graph;
pub mod layout;
pub mod repeats;
pub mod schedule;
pub mod sketch;
pub mod tensors;
pub mod tile;

pub mod opgraph;
pub mod steps;

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

mod bitmap;
mod canvas;
mod curves;
mod page;
mod picture;
mod speedups;
mod text;
mod violins;

pub use curves::{Curve, curves};
pub use page::Page;
pub use picture::Picture;
pub use speedups::{SpeedupBin, SpeedupRow, Speedups, speedups};
pub use violins::{Group, violins};

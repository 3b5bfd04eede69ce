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

mod canvas;
mod chart;
mod curves;
mod density;
mod graph;
mod html;
mod number;
mod page;
mod picture;
mod scene;
mod speedups;
mod text;
mod violins;

pub use chart::{
    Chart, Column, Gather, Kind, Log, Look, Roles, Size, Spec, Table, Values, What, Words,
};
pub use curves::{Curve, curves};
pub use graph::{Edge, Graph, Node};
pub use html::{Document, Figure, Grid, PICTURE_SCRIPT, Section, colours};
pub use page::Page;
pub use picture::Picture;
pub use scene::Theme;
pub use speedups::{SpeedupBin, SpeedupRow, Speedups, speedups};
pub use violins::{Group, violins};

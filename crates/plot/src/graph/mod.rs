//! Graph drawings: layers from top to bottom.

mod fold;
mod layered_layout;
mod model;
mod render;

pub use model::{Edge, Graph, Node};

//! Graphs as pictures: layers from top to bottom.

mod drawn;
mod folded;
mod laid;
mod model;

pub use model::{Edge, Graph, Node};

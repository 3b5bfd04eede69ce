//! TVM's graphs of nodes as JSON, without TVM: what `tvm.ir.save_json` writes.
//!
//! A graph is a list of nodes that refer to each other by their places in it. Two spellings of it are read:
//!
//! ```text
//! to 0.20  {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "IntImm", "attrs": {"value": "8", ...}}],
//!           "b64ndarrays": [], "attrs": {"tvm_version": "0.8.dev0"}}
//! to 0.26  {"root_index": 1, "nodes": [{"type": "None"},
//!           {"type": "ir.IntImm", "data": {"dtype": "int64", "value": 8, ...}}], "metadata": {"tvm_version": "0.23.0"}}
//! later    {"root_index": 2, "nodes": [{"type": "None"}, {"type": "int", "data": 8},
//!           {"type": "ir.IntImm", "data": {"value": 1, ...}}], "metadata": {"tvm_version": "0.27.0"}}
//! ```
//!
//! Both become a [`Graph`], which is inert: no node of it is made into anything. Root, elements of arrays and
//! of maps are looked at when it is read. Whether an attribute is a place or a number only the type of its node
//! says, so that is looked at when it is followed. Nothing says that a graph has no cycle: whoever walks one does
//! so by [`post_order`], which has no recursion, tells cycles, and has a [`Budget`] for all walks together.

mod encoded;
mod error;
mod graph;
mod node;
#[cfg(test)]
mod tests;
mod walk;

pub use encoded::{begins, decode, encode};
pub use error::Error;
pub use graph::{At, Graph};
pub use node::Node;
pub use walk::{Budget, post_order};

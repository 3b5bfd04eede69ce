//! Reads TVM node graphs in JSON, written by `tvm.ir.save_json`, without TVM.
//!
//! A graph is a list of nodes that reference each other by index. Two formats are supported:
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
//! Both become a [`TvmGraph`], which is inert: no node is instantiated. The indices of the root and of elements of
//! arrays and maps are validated when the graph is read. Only the type of a node determines whether an attribute is an
//! index or a number, so attributes are validated when they are followed. A graph may contain cycles. So walks use
//! [`post_order`], which is not recursive, detects cycles, and charges a [`StepBudget`] that all walks share.

mod encoded;
mod error;
mod graph;
mod node;
#[cfg(test)]
mod tests;
mod walk;

pub use encoded::{begins_encoded, decode, encode};
pub use error::Error;
pub use graph::{NodeRef, TvmGraph};
pub use node::Node;
pub use walk::{StepBudget, post_order};

//! SQL functions of tsql, one file each.
//!
//! They are registered by name, so that a plan that uses them runs on any worker that has called [`register`].
//!
//! Documentation (`function_docs`) and implementation of a function are defined together. A `scalar` function takes the
//! values of a row, an `aggregate` function the rows of a group. Aggregates that measure quality are metrics of
//! `tsql_metrics`; `metric` makes functions of them.

mod elements;
mod function_docs;

mod aggregate;
mod aliases;
mod all;
mod array_agg;
mod counts;
mod lists;
mod metric;
mod scalar;

mod blocks;
mod canonical_float;
mod count_aggregates;
pub(super) mod count_distinct_dense;
mod date_diff;
mod date_trunc;
mod deviation;
mod digests;
mod extreme_by;
mod fill_sketch;
mod first_by_order;
mod float_extremes;
mod function_list;
mod graph_edges;
mod histogram;
mod hlo_cost;
mod hlo_opcode;
mod json_text;
mod keys;
mod khop;
mod len;
mod list_statistics;
mod lossy_text;
mod macro_speedup_score;
mod median;
mod merge_labels;
mod named_cast;
mod node_feature;
mod odd_repeats;
mod open_sketch;
mod packed_repeats;
pub(crate) mod part_in_table;
pub(crate) mod part_of_split;
mod percentile_cont;
mod pooled;
mod scaled;
mod schedule;
mod segments;
mod sketch_params;
mod sliding;
mod speedup;
mod split;
mod task_bytes;
#[cfg(test)]
mod tests;
mod time_at;
mod unpack_calls;
mod unpack_checks;
mod unpack_graph;
mod unpack_tasks;
mod unpack_tensors;
mod value_buffer;
mod vectors;
mod workload;
mod workload_shape;

pub(crate) use all::register;
pub(super) use canonical_float::{CANONICAL_FLOAT, has_floats};
pub use elements::ElementNames;
pub use function_list::{Function, FunctionKind, function, functions};
pub(super) use named_cast::NAMED_CAST;

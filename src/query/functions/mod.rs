//! SQL functions of tsql, one file each. Registered by name, so that a plan that uses them runs on
//! any worker that has called [`register`].
//!
//! What is said of a function (`about`) and what it does stand together: a `scalar` has values of a
//! row, an `aggregate` the rows of a group. Aggregates that measure something are metrics of
//! `tsql_metrics`; they are listed there, and made by `metric`.

mod about;
mod elements;

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
pub(super) mod count_distinct_dense;
mod counted;
mod date_diff;
mod date_trunc;
mod deviation;
mod digests;
mod extreme_by;
mod fill_sketch;
mod first_by_order;
mod float_extremes;
mod gathered;
mod graph_edges;
mod histogram;
mod hlo_cost;
mod hlo_opcode;
mod json_text;
mod keys;
mod khop;
mod len;
mod list_statistics;
mod listed;
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
mod vectors;
mod workload;
mod workload_shape;

pub(crate) use all::register;
pub(super) use canonical_float::{CANONICAL_FLOAT, has_floats};
pub use elements::Elements;
pub use listed::{Function, FunctionKind, function, functions};
pub(super) use named_cast::NAMED_CAST;

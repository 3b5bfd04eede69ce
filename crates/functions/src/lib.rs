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

mod elements;
mod function_docs;

mod aggregate;
mod aliases;
mod all;
mod array_agg;
mod counts;
mod lists;
mod metric;
mod metric_lists;
mod scalar;

mod blocks;
mod canonical_float;
mod change_points;
mod checked_arithmetic;
mod count_aggregates;
pub mod count_distinct_dense;
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
mod integer_sum;
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
pub mod part_in_table;
pub mod part_of_split;
mod percentile_cont;
mod pooled;
mod scaled;
mod schedule;
mod segments;
mod sketch_params;
mod sliding;
pub mod sort_indices;
pub mod sort_keys;
mod speedup;
mod split;
mod task_bytes;
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

pub use all::register;
pub use canonical_float::{CANONICAL_FLOAT, has_floats};
pub use checked_arithmetic::{checked_arithmetic, is_checked_arithmetic};
pub use elements::ElementNames;
pub use function_list::{Function, FunctionKind, function, functions};
pub use integer_sum::{checked_total, sums_fit};
pub use named_cast::NAMED_CAST;

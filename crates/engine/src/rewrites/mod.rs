//! Rules that rewrite plans without an operator of tsql, and the estimates that they decide by.

pub(crate) mod bitmap_distinct;
pub(crate) mod cardinality;
pub(crate) mod distinct_on;
pub(crate) mod eager_aggregation;
pub(crate) mod fallible;
pub(crate) mod not_in;
pub(crate) mod per_column_pruning;
pub(crate) mod preaggregates;
pub(crate) mod split_pruning;
pub(crate) mod topk_file_order;

//! Physical operators of tsql, and the rules that put them into plans.

pub(crate) mod common_subplan;
pub(crate) mod full_sort;
pub(crate) mod join_selection;
pub(crate) mod operator_substitution;
pub(crate) mod partition_top_k;
pub(crate) mod range_join;
pub(crate) mod run_aggregate;
pub(crate) mod streaming_window;

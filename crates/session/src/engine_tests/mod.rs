//! Tests of the engine that need a session over a store.

mod eager_aggregation;
mod filter_barrier;
mod limit_barrier;
mod limits;
pub(crate) mod preaggregates;
pub(super) mod pruning;
mod run_aggregate;
mod topk_file_order;

use tsql_test_support::rows;

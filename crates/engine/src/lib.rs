#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

mod cancellation;
mod context;
mod files;
mod limits;
mod memory;
mod operators;
#[cfg(any(test, debug_assertions))]
mod plan_validator;
mod relations;
mod rewrites;
mod rule;
mod rules;
mod workarounds;

pub use cancellation::{execute_cancellable, execute_stream_cancellable};
pub use context::{
    build_context, build_runtime, check_setting_changes, new_context, session_builder,
    shared_runtime, worker_state,
};
pub use files::{lines_before_rows, rewrite_read_call, text_values};
pub use limits::{Limits, SharedRuntime};
pub use memory::memory_guard_bytes;
pub use relations::{DESCRIBE, RENAME, SUMMARIZE};
pub use rules::{ExplainRulesPlanner, LocalPlanner, switches};
pub use workarounds::chains::trees::{MAX_FLAT_TERMS, balanced_tree, flatten_chain};
pub use workarounds::chains::{MAX_OPERATOR_DEPTH, too_deep_message};

#[cfg(test)]
mod test_queries {
    use arrow::record_batch::RecordBatch;
    use datafusion::prelude::SessionContext;
    use tsql_error::{Error, Result};

    /// Collects all rows of a query in DataFusion's dialect.
    pub(crate) async fn collect(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
        let frame = context.sql(sql).await.map_err(Error::Query)?;
        frame.collect().await.map_err(Error::Query)
    }
}

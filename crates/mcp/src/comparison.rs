//! The tool that compares two sides.

use tsql_error::Result;
use tsql_ml::compare::{CompareOptions, Comparison, Side, compare};

use super::arguments::{self, Compare};
use super::query::with_timeout;
use super::server_state::ServerState;

/// Maximum length of each list of configurations.
const MAX_LISTED: usize = 1000;

/// Compares the records of two sides.
pub(crate) async fn compare_sides(state: &ServerState, arguments: Compare) -> Result<Comparison> {
    let time = arguments::timeout(arguments.timeout_seconds)?;
    let (a, b): (Side, Side) = (arguments.a.parse()?, arguments.b.parse()?);
    let mut options = CompareOptions::default().read_only_session(state.session.clone());
    if let Some(predicate) = arguments.predicate {
        options = options.predicate(predicate);
    }
    if let Some(change) = arguments.minimum_change {
        options = options.minimum_change(change);
    }
    if let Some(top) = arguments.top {
        options = options.top(top.min(MAX_LISTED));
    }
    with_timeout(time, compare(&state.store, &a, &b, &options)).await
}

//! Change points in the history of each program: where its level changed, by how much, and between which runs.
//!
//! ```text
//! records ─▶ a value for each program and place ─▶ change points ─▶ events of a machine
//!             (SQL: median, by commit, day or source)  (tsql_verdicts)
//! ```
//!
//! A program is a graph and a configuration on a platform. A place is a commit, a day or a source; the places of a
//! platform are ordered by the time of their first record.
//!
//! ```
//! use tsql_ml::trend::{TrendOptions, trend};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let found = trend(&store, &TrendOptions::default().order("source".parse()?)).await?;
//! // The sample has one record of each program.
//! assert!(found.changes.is_empty() && found.short_series > 0);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

#[cfg_attr(not(feature = "plot"), path = "no_chart.rs")]
mod chart;
mod options;
mod order;
mod places;
mod report;
mod series;

use tsql_error::{Error, Result};
use tsql_session::open_session_with;
use tsql_store::Store;

use crate::compare::program_names;
use places::read_places;
use series::SeriesReader;

pub use options::{MIN_VALUES, TrendOptions};
pub use order::TrendOrder;
pub use report::{ProgramChange, Trend, TrendEvent};

/// Searches the history of each program for changes of its level.
///
/// A program needs [`MIN_VALUES`] values. The series of a program is in memory, and those of others are not.
///
/// # Errors
/// [`Error::Empty`] if the store has no records in the order, [`Error::Query`] for an invalid predicate,
/// [`Error::Argument`] for a minimum change below 0, and failures of the storage.
pub async fn trend(store: &Store, options: &TrendOptions) -> Result<Trend> {
    if !(0.0..).contains(&options.minimum_change) {
        return Err(Error::Argument {
            name: "minimum_change",
            reason: format!(
                "{} is not a fraction of at least 0\nhint: 0.02 is 2 %",
                options.minimum_change
            ),
        });
    }
    let context = open_session_with(store, &options.session()).await?;
    let order = match &options.order {
        Some(order) => order.clone(),
        None => order::default_order(&context).await?,
    };
    let runs = order.placed_runs(&options.predicate);
    let places = read_places(&context, &runs).await?;
    if places.is_empty() {
        return Err(Error::Empty(order.explain_missing()));
    }
    let mut reader = SeriesReader::new(&places, options);
    reader.read(&context, &runs).await?;
    let mut found = reader.finish(order);
    let programs = found.changes.iter();
    let programs = programs.map(|change| (change.graph_id, change.config_id));
    let names = program_names(&context, programs.collect()).await?;
    for change in &mut found.changes {
        change.workload_key = names.workload_key(change.graph_id);
        change.steps = names.steps(change.config_id);
    }
    Ok(found)
}

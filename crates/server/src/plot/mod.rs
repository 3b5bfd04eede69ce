//! Charts of query results: lines, dots, bars, distributions or heat maps.
//!
//! A result of any length takes little memory. Long results are sampled, or averaged for bars and heat maps, with a
//! note in the chart. The crate `tensorsql-plot` does the drawing.
//!
//! ```
//! use tsql_server::plot::Appearance;
//! use tsql_server::plot::PlotSpec;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let spec: PlotSpec = "kind=ecdf x=runtime_ns by=platform".parse().unwrap();
//! let chart = tsql_server::plot::plot(&store, "SELECT runtime_ns, platform FROM records", &spec).await?;
//! let svg = chart.svg(Appearance::default());
//! assert!(svg.starts_with("<svg") && svg.contains("runtime (µs)"));
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod builtin_query;
mod columns;
mod document;
mod gather;
mod graph;
mod module;

pub use graph::plot_graph;

use datafusion::dataframe::DataFrame;
use tsql_error::{Error, Result};
use tsql_session::open_session_with;
use tsql_session::{SessionOptions, run_sql};
use tsql_store::Store;

pub use builtin_query::spec_for_query;
pub use document::{html_document, html_graph_document};
#[cfg(feature = "ui")]
pub(crate) use gather::column_indices;
pub use gather::{draw_stream, project_columns};
pub use tsql_plot::{Appearance, Chart, ChartKind, Graph, LogAxes, PlotSize, PlotSpec, Theme};

/// Draws the result of a query.
///
/// # Errors
/// Errors of the query; [`Error::Argument`] if the result lacks columns for the chart.
pub async fn plot(store: &Store, sql: &str, spec: &PlotSpec) -> Result<Chart> {
    let context = open_session_with(store, &SessionOptions::default().sql(sql)).await?;
    chart(run_sql(&context, sql, &[]).await?, spec).await
}

/// Draws the rows of a data frame.
///
/// # Errors
/// As [`plot`].
pub async fn chart(frame: DataFrame, spec: &PlotSpec) -> Result<Chart> {
    let (frame, units) = project_columns(frame, spec)?;
    let rows = frame.execute_stream().await.map_err(Error::Query)?;
    draw_stream(rows, spec, &units).await
}

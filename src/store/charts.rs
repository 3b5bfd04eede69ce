//! Charts and the HTML report.

use tsql_server::plot::{Chart, Graph, PlotSpec};
use tsql_session::SessionOptions;

use super::Store;
use crate::error::Result;

impl Store {
    /// Returns the HTML report of the store as one self-contained page. `name` is the displayed name of the store.
    ///
    /// Sections without rows are omitted.
    ///
    /// # Errors
    /// Failures of the storage and of the queries.
    pub async fn html_report(&self, name: &str) -> Result<String> {
        tsql_server::html_report::html_report(self, name).await
    }

    /// As [`Store::html_report`], with limits on the queries.
    ///
    /// # Errors
    /// As [`Store::html_report`].
    pub async fn html_report_with(&self, name: &str, options: &SessionOptions) -> Result<String> {
        tsql_server::html_report::html_report_with(self, name, options).await
    }

    /// Draws the result of a query.
    ///
    /// # Errors
    /// Errors of the query; [`crate::Error::Argument`] if the result lacks columns for the chart.
    pub async fn plot(&self, sql: &str, spec: &PlotSpec) -> Result<Chart> {
        tsql_server::plot::plot(self, sql, spec).await
    }

    /// Returns a graph with its operations and edges, and with shapes, modules and configurable nodes if known.
    ///
    /// `graph` is a graph id (`graphs.graph_id`), the path of a GraphNet sample or a suffix of it, or the name of a
    /// TpuGraphs file.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if nothing matches, [`crate::Error::Ambiguous`] for a suffix of several paths, [`crate::Error::Empty`] if
    /// the store has no operations of the graph, and failures of the storage.
    pub async fn plot_graph(&self, graph: &str) -> Result<Graph> {
        tsql_server::plot::plot_graph(self, graph).await
    }
}

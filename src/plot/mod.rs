//! Pictures of answers: the rows of any query as lines, dots, bars, distributions or a heat map.
//!
//! An answer of any length takes little memory: of long ones a sample is drawn, of bars and heat maps means, and the picture
//! says so. What is drawn of it, and how it looks, is the business of the crate `tensorsql-plot`.
//!
//! ```
//! use tsql::Store;
//! use tsql::plot::{Look, Spec};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let spec: Spec = "kind=ecdf x=runtime_ns by=platform".parse().unwrap();
//! let chart = store.plot("SELECT runtime_ns, platform FROM records", &spec).await?;
//! let svg = chart.svg(Look::default());
//! assert!(svg.starts_with("<svg") && svg.contains("runtime (µs)"));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod asked;
mod columns;
mod document;
mod gathered;
mod graph;
mod module;

use datafusion::dataframe::DataFrame;

pub use asked::of_question;
pub use document::{document, graph_document};
#[cfg(feature = "ui")]
pub(crate) use gathered::places;
pub use gathered::{gathered, narrowed};
pub use tsql_plot::{Chart, Graph, Kind, Log, Look, Size, Spec, Theme};

use crate::error::{Error, Result};
use crate::query::{SessionOptions, ask};
use crate::store::Store;

impl Store {
    /// Draws the answer to a query.
    ///
    /// # Errors
    /// Those of the query; [`Error::Argument`] where the answer has not the columns for the picture.
    pub async fn plot(&self, sql: &str, spec: &Spec) -> Result<Chart> {
        let context = self
            .session_with(&SessionOptions::default().sql(sql))
            .await?;
        chart(ask(&context, sql, &[]).await?, spec).await
    }
}

/// Draws the rows of a query.
///
/// # Errors
/// As [`Store::plot`].
pub async fn chart(frame: DataFrame, spec: &Spec) -> Result<Chart> {
    let (frame, units) = narrowed(frame, spec)?;
    let rows = frame.execute_stream().await.map_err(Error::Query)?;
    gathered(rows, spec, &units).await
}

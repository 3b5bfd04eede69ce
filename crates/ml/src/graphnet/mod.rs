//! GraphNet: scores of benchmark runs, named lists of samples, and the Parquet file of its hub.
//!
//! ```no_run
//! use tsql_store::Store;
//! use tsql_ml::graphnet;
//! use tsql_ml::graphnet::ReportOptions;
//! use tsql_ml::graphnet::SubsetOptions;
//! # async fn example() -> Result<(), tsql_error::Error> {
//! let store = Store::open("store").await?;
//! let report = graphnet::report(&store, &ReportOptions::default().group_by("compiler")).await?;
//! report.write("report".as_ref(), 1600)?; // S(t), ES(t) and the speedups, as plots and numbers
//!
//! let query = "SELECT path FROM samples WHERE variant_of IS NULL";
//! let options = SubsetOptions::default().random(100, 7);
//! let list = graphnet::create_subset(&store, "random100", query, &options).await?;
//! assert_eq!((list.members.len(), list.version), (100, 1));
//! # Ok(()) }
//! ```

mod hub;
mod report;
mod selection;
mod subset;

pub use hub::{HubOptions, export_hub};
pub use report::{Curve, PNG_WIDTHS, Point, Report, ReportOptions, report};
pub use subset::{Subset, SubsetOptions, TASK_QUERY, create_subset, delete_subset, subset};

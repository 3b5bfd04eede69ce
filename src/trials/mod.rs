//! Trials: programs that are built, timed and stored; and what this process times itself ([`Recording`]).
//!
//! ```no_run
//! use tsql::Store;
//! use tsql::trials::{Loaded, MeasureOptions};
//! # async fn example() -> Result<(), tsql::Error> {
//! let store = Store::open_or_create("store").await?;
//! // Kernels run in processes of the command.
//! let options = MeasureOptions::new(["tsql"]).trials(200).seed(7);
//! let measured = store.measure(Loaded::named("matmul")?, &options).await?;
//! let best = measured.trials.iter().filter_map(|trial| trial.median_ns).reduce(f64::min);
//! # Ok(()) }
//! ```
//!
//! ```text
//! manifest ─▶ plan ─▶ built (many at once) ─▶ timed (one at a time) ─▶ journal ─▶ store
//!               ▲                                   │
//!               └────────── what came of it ────────┘
//! ```
//!
//! A run is a stream of the store: its records are lines of the dataset `measured`. Each is on the
//! local disk, in the run's journal, before the next kernel is timed, and in the store after the next
//! commit, for which timing pauses. A journal that a killed run left is sent again as a whole: what
//! the store has of it is left out, so every finished measurement is stored once.

mod again;
mod elsewhere;
mod event;
mod exec;
mod here;
mod known;
mod line;
mod loaded;
pub(crate) mod measure;
mod options;
pub(crate) mod plan;
mod recording;
mod repeat;
pub(crate) mod run;
pub(crate) mod sink;

pub use again::{MeasuredAgain, Repeatable, RepeatedRecord};
pub use elsewhere::Difference;
pub use event::Event;
pub use exec::{ExecOptions, Executed};
pub use here::{devices, doctor, machine, platform};
pub use loaded::{Item, Loaded};
pub use measure::{Measured, MeasuredTrial};
pub use options::{MeasureOptions, Progress};
pub use recording::{Recording, RecordingOptions, Timed, Timing, time_calls, time_launches};
pub use sink::Resumed;
pub use tsql_measure::doctor::Finding;
pub use tsql_measure::search::Kind as Search;
pub use tsql_measure::templates::{Template, list as templates};
pub use tsql_measure::trial::{Cache, Outcome, Settings};

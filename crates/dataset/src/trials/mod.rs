//! Trials: programs are built, timed and stored. Also calls timed in this process ([`Recording`]).
//!
//! ```no_run
//! use tsql_store::Store;
//! use tsql_dataset::trials::LoadedProgram;
//! use tsql_dataset::trials::MeasureOptions;
//! # async fn example() -> Result<(), tsql_error::Error> {
//! let store = Store::open_or_create("store").await?;
//! // Kernels run in processes of the command.
//! let options = MeasureOptions::new(["tsql"]).trials(200).seed(7);
//! let measured = tsql_dataset::trials::measure(&store, LoadedProgram::open("matmul")?, &options).await?;
//! let best = measured.trials.iter().filter_map(|trial| trial.median_ns).reduce(f64::min);
//! # Ok(()) }
//! ```
//!
//! ```text
//! manifest ─▶ plan ─▶ build (many at once) ─▶ time (one at a time) ─▶ journal ─▶ store
//!               ▲                                   │
//!               └──────────── outcome ──────────────┘
//! ```
//!
//! A run is a stream of the store: its records are lines of the dataset `measured`. Each is in the run's
//! journal on the local disk before the next kernel is timed, and in the store after the next commit,
//! during which timing pauses. The journal of an interrupted run is sent again completely. Lines that the
//! store already has are skipped, so every finished measurement is stored once.

mod event;
mod exec;
mod host;
mod loaded_program;
mod machine_difference;
mod measure;
mod measure_again;
mod measured_configs;
mod options;
mod pair;
mod plan;
mod record_comparison;
mod record_line;
pub(crate) mod record_sink;
mod recording;
pub(crate) mod trial_run;

pub use event::Event;
pub use exec::{ExecOptions, Executed, measure_exec};
pub use host::{describe_devices, machine_json, platform_of_device, run_doctor};
pub use loaded_program::{LoadedProgram, TrialSpec};
pub use machine_difference::Difference;
pub use measure::{Measured, MeasuredTrial, measure, resume_measured};
pub use measure_again::{
    MeasuredAgain, RepeatableRecords, RepeatedRecord, find_repeatable, measure_again,
};
pub use options::{MeasureOptions, Progress};
pub use pair::{
    PAIR_LOOKS, PROGRAMS_VARIABLE, PairOptions, PairProgram, PairProgress, PairReport, PairRun,
    SIDE_VARIABLE, measure_pair,
};
pub use plan::{SearchPlan, TrialPlan};
pub use record_sink::Resumed;
pub use recording::{
    Recording, RecordingOptions, TimedCall, Timing, open_recording, time_calls, time_launches,
};
pub use tsql_measure::doctor::Finding;
pub use tsql_measure::search::SearchStrategy as Search;
pub use tsql_measure::templates::{Template, list as templates};
pub use tsql_measure::trial::{Cache, Outcome, Settings};

//! Readers of the records of autotuners.
//!
//! A file is decompressed, detected by its content and read as a stream of [`Event`]s beside a [`Document`]. Trials keep
//! the exact texts of their numbers, failures never have a time, and units are those of the source.
//!
//! ```
//! use tsql_autotuners::{Detected, Event, ReadOptions, Reader, detect};
//!
//! let log = b"Validator,PT_VERSION,2.9.0\nGemmTunableOp_Half_NN,nn_8_8_8,Gemm_Rocblas_7,0.25\n";
//! let Detected::Format(format) = detect(log) else { return };
//! let mut reader = Reader::new(format, log.as_slice(), ReadOptions::default());
//! let Some(Ok(Event::Trial(trial))) = reader.next() else { return };
//! assert_eq!(trial.time.map(|time| time.seconds()), Some(0.25e-3));
//! ```

mod detect;
mod document;
mod error;
mod format;
mod formats;
mod json;
mod mapping;
mod metrics;
mod model;
mod output;
mod quantity;
mod reader;
mod space;
mod text;
mod value;

pub use detect::detect;
pub use document::{Counts, Coverage, Document, End, Event, Rejected};
pub use error::Error;
pub use format::{Detected, Format, NoRecords};
pub use json::parse_json;
pub use mapping::{ColumnRole, Mapping, MetricColumn};
pub use metrics::{METRIC_NAMES, MetricName, Scale, base_unit, canonical_name};
pub use model::{FailureKind, Graph, Metric, MetricKind, Origin, Repeats, Sourced, Status, Trial};
pub use output::{ReadOptions, RunOptions};
pub use quantity::{Time, TimeUnit};
pub use reader::{Reader, decompress};
pub use space::{
    Condition, EvaluationError, Expression, ExpressionError, Operand, Parameter, Space,
};
pub use value::{Fields, Number, Value};

//! Files of autotuners: trials become records with metrics, and the bytes of the file are stored for its export.
//!
//! ```text
//! file ─▶ admit (graph? platform?) ─▶ read ─▶ tsql_autotuners ─▶ convert ─▶ records, spaces, rejected parts
//! ```

mod convert;
mod environment;
mod export;
mod group;
mod metrics;
mod names;
mod parsed;
mod reader;
mod spaces;
mod times;

pub(super) use export::FORMATS;
pub(super) use reader::TunerReader;

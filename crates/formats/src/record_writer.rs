//! Rebuilds lines from stored records.

use std::fmt;

use crate::rows::{Environment, Kernel, Measurement, RecordDetails};

/// Record with the values of its columns.
#[derive(Clone, Copy, Debug)]
pub struct StoredRecord<'a> {
    /// Id of its graph.
    pub graph_id: i64,
    /// Id of its environment.
    pub environment_id: i64,
    /// The workload key of its graph.
    pub workload_key: &'a str,
    /// Its environment.
    pub environment: &'a Environment,
    /// Steps of the configuration, in the spelling of its format.
    pub steps: &'a [u8],
    /// Measurement.
    pub measurement: Measurement<'a>,
    /// Kernel; empty unless the format [has details](crate::LogFormat::has_details).
    pub kernel: &'a Kernel,
    /// Details; empty unless the format [has details](crate::LogFormat::has_details).
    pub details: &'a RecordDetails,
}

/// Writes the records of a format as lines. It may cache the common parts of one graph and environment.
pub trait RecordWriter: fmt::Debug + Send {
    /// Appends the line of a record, without its line ending. Returns false if the columns cannot be written; `out`
    /// then ends in an incomplete line.
    fn write_record(&mut self, record: &StoredRecord<'_>, out: &mut Vec<u8>) -> bool;
}

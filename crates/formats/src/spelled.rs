//! Records as they are stored, on their way back to the lines that they came from.

use std::fmt;

use crate::rows::{Details, Environment, Kernel, Measurement};

/// A record, as its columns have it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// What its graph is known by.
    pub graph_id: i64,
    /// What its environment is known by.
    pub environment_id: i64,
    /// The workload key of its graph.
    pub workload_key: &'a str,
    /// Its environment.
    pub environment: &'a Environment,
    /// The program, in the spelling of its format.
    pub steps: &'a [u8],
    /// What was measured.
    pub measurement: Measurement<'a>,
    /// What is known of its kernel; nothing unless the format [has details](crate::Logs::has_details).
    pub kernel: &'a Kernel,
    /// What only some records have; nothing unless the format [has details](crate::Logs::has_details).
    pub details: &'a Details,
}

/// Spells records of a format as lines. It may remember what those of one graph and environment have in common.
pub trait Speller: fmt::Debug + Send {
    /// Appends the line of a record, without its line ending. False where the columns cannot be spelled, and then
    /// `out` holds part of a line.
    fn spell(&mut self, record: &Stored<'_>, out: &mut Vec<u8>) -> bool;
}

//! Measurements of kernels into a store.

use tsql_dataset::trials::{
    ExecOptions, Executed, LoadedProgram, MeasureOptions, Measured, MeasuredAgain, PairOptions,
    PairReport, Recording, RecordingOptions, RepeatableRecords, Resumed,
};

use super::Store;
use crate::error::Result;

impl Store {
    /// Runs a program and appends its records as they appear in its output or in a log.
    ///
    /// Output lines that begin with `{` are records; all others are written to standard error. If the
    /// program fails, its records remain stored. Measurements of interrupted runs are stored first.
    ///
    /// # Errors
    /// If the program cannot be started, and failures of the store.
    pub async fn measure_exec(&self, options: &ExecOptions) -> Result<Executed> {
        tsql_dataset::trials::measure_exec(self, options).await
    }

    /// Runs two commands in turn, stores their records, and tests each program for a change from one to the other.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for fewer than four blocks, and as [`Store::measure_exec`].
    pub async fn measure_pair(&self, options: &PairOptions) -> Result<PairReport> {
        tsql_dataset::trials::measure_pair(self, options).await
    }

    /// Finds records that can be measured again: those selected by `predicate` (SQL over the columns of
    /// `records`), newest first, at most `limit`.
    ///
    /// Each configuration of a program is included once, with its newest record. Only records of
    /// [`Store::measure`] qualify, because the store has their programs.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] if there is none, or if some are for the GPU and some for the processor.
    /// [`crate::Error::Query`] if the predicate is invalid.
    pub async fn find_repeatable(&self, predicate: &str, limit: u64) -> Result<RepeatableRecords> {
        tsql_dataset::trials::find_repeatable(self, predicate, limit).await
    }

    /// Builds and times the programs of these records on this machine, like [`Store::measure`], and
    /// compares the results.
    ///
    /// A difference is reported if it is statistically significant (Mann-Whitney test), and if both the
    /// repeats as a whole and the minimum changed by at least `minimum_change` (0.02 is 2 %).
    ///
    /// # Errors
    /// See [`Store::measure`].
    pub async fn measure_again(
        &self,
        records: RepeatableRecords,
        options: &MeasureOptions,
        minimum_change: f64,
    ) -> Result<MeasuredAgain> {
        tsql_dataset::trials::measure_again(self, records, options, minimum_change).await
    }

    /// Starts a stream of records of calls timed in this process.
    ///
    /// # Errors
    /// Invalid labels, and failures of the store.
    pub async fn recording(&self, options: &RecordingOptions) -> Result<Recording> {
        tsql_dataset::trials::open_recording(self, options).await
    }

    /// Builds and times a program's configurations on this machine, and appends the timings as records of a
    /// new stream. Measurements of interrupted runs are stored first.
    ///
    /// A kernel that fails is a record. If the future is dropped, the run continues in the background:
    /// until the current kernel is finished if [`MeasureOptions::stop`] is set, else to its end.
    ///
    /// # Errors
    /// If the machine lacks a compiler, a device or disk space; [`crate::Error::Measuring`] if nearly all kernels
    /// fail in the same way; failures of the store. Earlier measurements are in the store, or in a journal
    /// that the error names.
    pub async fn measure(
        &self,
        program: LoadedProgram,
        options: &MeasureOptions,
    ) -> Result<Measured> {
        tsql_dataset::trials::measure(self, program, options).await
    }

    /// Stores measurements of interrupted runs.
    ///
    /// # Errors
    /// Failures of the store; the journals are retained then.
    pub async fn resume_measured(&self) -> Result<Resumed> {
        tsql_dataset::trials::resume_measured(self).await
    }
}

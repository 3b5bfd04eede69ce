//! Checksums that verify the log: one of each file's entry, in a tag of the file, and one of all files together, in
//! `commitInfo`.
//!
//! The first detects a file whose size, row count, statistics or tags were changed. The second detects a file that is
//! missing or was not removed: a damaged key or path of an action, which Delta readers ignore. Checkpoints are covered
//! as well. Commits of other programs have no checksum, and are trusted.
//!
//! Not covered is data that does not affect results: the time of a commit, and tombstones.
//! [`commit_info`](super::commit_info) covers the other fields of a commit, and [`proofs`](super::proofs) a log that
//! was replaced by an older one.

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};

use arrow::datatypes::Schema;
use serde_json::Value;

use super::change::Change;
use crate::files::checksum;
use crate::files::data_file::DataFile;
use crate::files::stats::{StatValue, Stats, Values};
use tsql_error::Error;
use tsql_schema::Table;

/// Field of a commit: checksum of the files of the new version.
pub(super) const FILES: &str = "tsqlFiles";

/// Returns the checksum of a file's log entry. It is equal before writing and after reading.
pub(super) fn file_checksum(table: &Table, file: &DataFile) -> u64 {
    let mut text = ChecksumInput(String::with_capacity(4096));
    text.add("path", &file.path);
    text.write("bytes", &file.size_bytes);
    for (name, value) in &file.partition {
        text.add(name, value.as_deref().unwrap_or_default());
    }
    let tag = file.rollup.and_then(|place| place.tag().1);
    text.add("rollup", &tag.unwrap_or_default());
    let tag = file.checksums.and_then(|known| known.tag(0).1);
    text.add("checksums", &tag.unwrap_or_default());
    let stats = &file.stats;
    text.write("rows", &stats.num_records);
    let schema = table.stored_schema();
    let fractions = FloatColumns::new(&schema);
    for values in [&stats.null_count, &stats.min_values, &stats.max_values] {
        text.write("columns", &values.len());
        for (name, value) in values.iter() {
            match (fractions.as_float(name, value), value) {
                (Some(number), _) => text.write(name, &number.to_bits()),
                (None, StatValue::Text(value)) => text.add(name, value),
                (None, value) => text.write(name, value),
            }
        }
    }
    checksum::compute(text.0.as_bytes())
}

/// Input of a checksum: names and values as lines.
struct ChecksumInput(String);

impl ChecksumInput {
    fn add(&mut self, name: &str, value: &str) {
        self.0.extend([name, "\0", value, "\n"]);
    }

    fn write(&mut self, name: &str, value: &dyn Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{name}\0{value}");
    }
}

/// Floating-point columns.
struct FloatColumns<'a>(Vec<&'a str>);

impl<'a> FloatColumns<'a> {
    fn new(stored: &'a Schema) -> Self {
        let fields = stored.fields().iter();
        let fractions = fields.filter(|field| field.data_type().is_floating());
        Self(fractions.map(|field| field.name().as_str()).collect())
    }

    /// Returns the number of a floating-point column, which the log may spell differently ([`Stats::parse`]).
    fn as_float(&self, name: &str, value: &StatValue) -> Option<f64> {
        let is_of_them = self.0.contains(&name);
        is_of_them.then(|| value.as_f64()).flatten()
    }
}

/// Returns statistics from [`Stats::parse`] as they are written: fractions become numbers.
pub(super) fn normalize_floats(table: &Table, stats: &Stats) -> Stats {
    let schema = table.stored_schema();
    let fractions = FloatColumns::new(&schema);
    let spelled = |values: &Values| {
        let values = values.iter().map(|(name, value)| {
            let number = fractions.as_float(name, value);
            let number = number.map(|number| Value::from(number).into());
            (name.to_owned(), number.unwrap_or_else(|| value.clone()))
        });
        values.collect()
    };
    Stats {
        num_records: stats.num_records,
        min_values: spelled(&stats.min_values),
        max_values: spelled(&stats.max_values),
        null_count: stats.null_count.clone(),
    }
}

/// Order-independent checksum of all files of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TableChecksum {
    files: u64,
    sum: u64,
}

impl TableChecksum {
    /// Adds a file with this checksum.
    pub(super) fn with_file(self, of_entry: u64) -> Self {
        Self {
            files: self.files.wrapping_add(1),
            sum: self.sum.wrapping_add(of_entry),
        }
    }

    fn without_file(self, of_entry: u64) -> Self {
        Self {
            files: self.files.wrapping_sub(1),
            sum: self.sum.wrapping_sub(of_entry),
        }
    }

    /// Returns the checksum of these files after a change.
    pub(super) fn after_change(
        mut self,
        table: &Table,
        files: &[DataFile],
        change: &Change,
    ) -> Self {
        let live = files.iter().map(|file| (file.path.as_str(), file));
        let mut live: HashMap<&str, &DataFile> = live.collect();
        for file in change.remove.iter().chain(&change.add) {
            if let Some(old) = live.remove(file.path.as_str()) {
                self = self.without_file(file_checksum(table, old));
            }
        }
        let added = change.add.iter().map(|file| file_checksum(table, file));
        added.fold(self, Self::with_file)
    }
}

impl Display for TableChecksum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:016x}", self.files, self.sum)
    }
}

/// Returns the error of a log that does not match its checksum.
pub(super) fn damaged_log_error(table: &Table, what: &str) -> Error {
    Error::Log {
        table: table.name.clone(),
        message: format!(
            "{what} not as written: a file of its log is damaged\n\
             hint: `tsql check --repair` restores the recoverable part of `{}/_delta_log`; TSQL_VERIFY=never reads it unchecked",
            table.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_schema as schema;

    /// Delta readers reject text in place of a number.
    #[test]
    fn what_was_read_is_written_as_it_was() {
        let table = schema::table("records").unwrap();
        let text = r#"{"numRecords":3,"minValues":{"graph_id":4,"runtime_ns":1234.5678901234567,"source":"1.5"},"maxValues":{"runtime_ns":5.0},"nullCount":{"runtime_ns":0}}"#;
        let read = Stats::parse(text).unwrap();
        let written = serde_json::to_string(&normalize_floats(table, &read)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    }
}

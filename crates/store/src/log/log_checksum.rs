//! What the log says of files is what was written: a checksum of each file's entry, in a tag of the file, and
//! one of all files together, in the information of each commit.
//!
//! The first names the file whose size, rows, extremes or sums are said to be others. The second tells a file
//! that is missing, or there although it was removed: a key or path of an action that was damaged, which
//! readers of Delta pass over. Checkpoints are covered too. A commit of another program states none, and is
//! believed.
//!
//! Not covered is what no answer comes from: the time of a commit, and tombstones. What a commit says of itself is
//! covered by [`commit_info`](super::commit_info), a log that is an older one by [`proofs`](super::proofs).

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

/// What a commit says of the table that it makes.
pub(super) const FILES: &str = "tsqlFiles";

/// The checksum of what the log says of a file: the same before it is written and after it is read.
pub(super) fn of_entry(table: &Table, file: &DataFile) -> u64 {
    let mut text = Text(String::with_capacity(4096));
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
    let fractions = Fractions::of(&schema);
    for values in [&stats.null_count, &stats.min_values, &stats.max_values] {
        text.write("columns", &values.len());
        for (name, value) in values.iter() {
            match (fractions.number(name, value), value) {
                (Some(number), _) => text.write(name, &number.to_bits()),
                (None, StatValue::Text(value)) => text.add(name, value),
                (None, value) => text.write(name, value),
            }
        }
    }
    checksum::compute(text.0.as_bytes())
}

/// Names and values as lines.
struct Text(String);

impl Text {
    fn add(&mut self, name: &str, value: &str) {
        self.0.extend([name, "\0", value, "\n"]);
    }

    fn write(&mut self, name: &str, value: &dyn Display) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "{name}\0{value}");
    }
}

/// The columns whose numbers have fractions.
struct Fractions<'a>(Vec<&'a str>);

impl<'a> Fractions<'a> {
    fn of(stored: &'a Schema) -> Self {
        let fields = stored.fields().iter();
        let fractions = fields.filter(|field| field.data_type().is_floating());
        Self(fractions.map(|field| field.name().as_str()).collect())
    }

    /// A number of one of them, which the log may spell in another way ([`Stats::parse`]).
    fn number(&self, name: &str, value: &StatValue) -> Option<f64> {
        let is_of_them = self.0.contains(&name);
        is_of_them.then(|| value.as_f64()).flatten()
    }
}

/// The statistics of a file that may have been read ([`Stats::parse`]) as they are written: a fraction is a number.
pub(super) fn spelled(table: &Table, stats: &Stats) -> Stats {
    let schema = table.stored_schema();
    let fractions = Fractions::of(&schema);
    let spelled = |values: &Values| {
        let values = values.iter().map(|(name, value)| {
            let number = fractions.number(name, value);
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

/// The checksum of all files that a table consists of, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OfTable {
    files: u64,
    sum: u64,
}

impl OfTable {
    /// With one more file of this checksum.
    pub(super) fn with(self, of_entry: u64) -> Self {
        Self {
            files: self.files.wrapping_add(1),
            sum: self.sum.wrapping_add(of_entry),
        }
    }

    fn without(self, of_entry: u64) -> Self {
        Self {
            files: self.files.wrapping_sub(1),
            sum: self.sum.wrapping_sub(of_entry),
        }
    }

    /// That of these files after a change.
    pub(super) fn after(mut self, table: &Table, files: &[DataFile], change: &Change) -> Self {
        let live = files.iter().map(|file| (file.path.as_str(), file));
        let mut live: HashMap<&str, &DataFile> = live.collect();
        for file in change.remove.iter().chain(&change.add) {
            if let Some(old) = live.remove(file.path.as_str()) {
                self = self.without(of_entry(table, old));
            }
        }
        let added = change.add.iter().map(|file| of_entry(table, file));
        added.fold(self, Self::with)
    }
}

impl Display for OfTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:016x}", self.files, self.sum)
    }
}

/// The error of a log that does not say what was written.
pub(super) fn damaged(table: &Table, what: &str) -> Error {
    Error::Log {
        table: table.name.clone(),
        message: format!(
            "{what} not what was written: a file of its log is damaged\n\
             hint: `tsql check --repair` restores what is left of `{}/_delta_log`; TSQL_VERIFY=never reads it as it is",
            table.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_schema as schema;

    /// Readers of Delta take no text for a number.
    #[test]
    fn what_was_read_is_written_as_it_was() {
        let table = schema::table("records").unwrap();
        let text = r#"{"numRecords":3,"minValues":{"graph_id":4,"runtime_ns":1234.5678901234567,"source":"1.5"},"maxValues":{"runtime_ns":5.0},"nullCount":{"runtime_ns":0}}"#;
        let read = Stats::parse(text).unwrap();
        let written = serde_json::to_string(&spelled(table, &read)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
    }
}

//! What the log says of files is what was written: a checksum of each file's entry, in a tag of the file, and
//! one of all files together, in the information of each commit.
//!
//! The first names the file whose size, rows, extremes or sums are said to be others. The second tells a file
//! that is missing, or there although it was removed: a key or path of an action that was damaged, which
//! readers of Delta pass over. Checkpoints are covered too. A commit of another program states none, and is
//! believed.
//!
//! Not covered is what no answer comes from: application transactions, the time and the words of a commit,
//! tombstones; nor a whole log that is an older one.

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};

use serde_json::Value;

use super::change::Change;
use crate::error::Error;
use crate::schema::Table;
use crate::store::checksum;
use crate::store::data_file::DataFile;

/// What a commit says of the table that it makes.
pub(super) const FILES: &str = "tsqlFiles";

/// The checksum of what the log says of a file: the same before it is written and after it is read.
pub(super) fn of_entry(table: &Table, file: &DataFile) -> u64 {
    let mut text = Text(String::with_capacity(2048));
    text.add("path", &file.path);
    text.add("bytes", &file.size_bytes);
    for (name, value) in &file.partition {
        text.add(
            name,
            value.as_ref().map_or(&"" as &dyn Display, |value| value),
        );
    }
    let tag = file.rollup.and_then(|place| place.tag().1);
    text.add("rollup", &tag.unwrap_or_default());
    let tag = file.checksums.and_then(|known| known.tag(0).1);
    text.add("checksums", &tag.unwrap_or_default());
    let stats = &file.stats;
    text.add("rows", &stats.num_records);
    for values in [&stats.null_count, &stats.min_values, &stats.max_values] {
        text.add("columns", &values.len());
        for (name, value) in values {
            match (value, fraction(table, name, value)) {
                (_, Some(number)) => text.add(name, &number.to_bits()),
                (Value::String(value), None) => text.add(name, value),
                (value, None) => text.add(name, value),
            }
        }
    }
    checksum::of(text.0.as_bytes())
}

/// Names and values as lines.
struct Text(String);

impl Text {
    fn add(&mut self, name: &str, value: &dyn Display) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "{name}\0{value}");
    }
}

/// A number of a column of fractions, which the log may spell in another way ([`Stats::parse`]).
///
/// [`Stats::parse`]: crate::store::data_file::Stats::parse
fn fraction(table: &Table, name: &str, value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            text.parse().ok()?
        }
        Value::Number(number) => number.as_f64()?,
        _ => return None,
    };
    let data_type = table.column(name)?.data_type().ok()?;
    data_type.is_floating().then_some(number)
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
             hint: a copy of its folder `{}/_delta_log` has them; TSQL_VERIFY=never reads what there is",
            table.name
        ),
    }
}

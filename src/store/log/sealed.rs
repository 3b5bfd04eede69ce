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

use std::fmt::Write as _;

use memchr::memmem;
use serde_json::Value;

use super::{Log, Snapshot, failure};
use crate::error::{Error, Result};
use crate::schema::Table;
use crate::store::checksum;
use crate::store::file::DataFile;
use crate::store::verify::Verify;

/// What a commit says of the table that it makes.
pub(super) const FILES: &str = "tsqlFiles";

/// The checksum of what the log says of a file: the same before it is written and after it is read.
pub(super) fn of_entry(table: &Table, file: &DataFile) -> u64 {
    let mut text = format!("{}\n{}\n", file.path, file.size_bytes);
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name} {value:?}");
    };
    for (name, value) in &file.partition {
        line(name, value);
    }
    line("rollup", &file.rollup.map(|place| place.tag().1));
    line("checksums", &file.checksums.map(|known| known.tag(0).1));
    line("rows", &file.stats.num_records);
    let stats = &file.stats;
    for values in [&stats.null_count, &stats.min_values, &stats.max_values] {
        line("columns", &values.len());
        for (name, value) in values {
            let is_floating = table
                .column(name)
                .and_then(|column| column.data_type().ok())
                .is_some_and(|data_type| data_type.is_floating());
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            match text.parse::<f64>() {
                Ok(number) if is_floating => line(name, &number.to_bits()),
                _ => line(name, &text),
            }
        }
    }
    checksum::of(text.as_bytes())
}

/// The checksum of a table that consists of these files, in any order.
pub(super) fn of_table<'a>(table: &Table, files: impl IntoIterator<Item = &'a DataFile>) -> String {
    let (mut count, mut sum) = (0_u64, 0_u64);
    for file in files {
        count += 1;
        sum = sum.wrapping_add(of_entry(table, file));
    }
    format!("{count} {sum:016x}")
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

impl Snapshot {
    /// This snapshot, if its files are those that its last commit says.
    pub(super) async fn confirmed(self) -> Result<Self> {
        let Log { table, log_store } = &self.log;
        if Verify::of_environment()? == Verify::Never {
            return Ok(self);
        }
        let entry = log_store.read_commit_entry(self.version()).await;
        let entry = entry.map_err(|error| failure(table, error))?;
        // Of older versions only checkpoints may be left.
        let Some(entry) = entry else { return Ok(self) };
        let is_cut = entry.trim_ascii().is_empty();
        let is_other =
            || said(&entry).is_some_and(|said| said != of_table(table, self.files().iter()));
        if is_cut || is_other() {
            return Err(damaged(table, "the files of the table are"));
        }
        Ok(self)
    }
}

/// What a commit says of the files of its table.
fn said(entry: &[u8]) -> Option<String> {
    let line = entry.split(|&byte| byte == b'\n');
    let mut infos = line.filter(|line| memmem::find(line, FILES.as_bytes()).is_some());
    let info: Value = serde_json::from_slice(infos.next()?).ok()?;
    Some(info.get("commitInfo")?.get(FILES)?.as_str()?.to_owned())
}

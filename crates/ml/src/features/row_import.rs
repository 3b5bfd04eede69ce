//! Validates rows of features one by one, and writes them to data files of limited size.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float32Builder, ListBuilder, PrimitiveArray, RecordBatch,
    StringBuilder,
};
use arrow::datatypes::Float64Type;
use tsql_adapters::dedupe::write_single_file;
use tsql_error::Result;
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array, repeat_text};
use tsql_session::key_columns::{KeyColumn, key_text, line_number};
use tsql_store::{Change, Store};
use twox_hash::XxHash3_64;

use super::configurations::{ConfigKey, Configurations};
use super::report::{FeaturesImported, RejectedRow, RowRejection};

/// Name of the table of features.
pub(super) const FEATURES: &str = "features";

/// Maximum number of values in a data file: 64 MiB.
const MAX_FILE_NUMBERS: usize = 16 << 20;

/// Maximum number of rejected rows of each reason that a report lists.
const MAX_LISTED_REJECTIONS: u64 = 5;

/// Numbers of a configuration: their hash, and the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredNumbers {
    pub(super) hash: u64,
    /// `None` if already stored.
    pub(super) line: Option<u64>,
}

/// Features of a version: stored and new ones.
#[derive(Default)]
pub(super) struct KnownFeatures {
    pub(super) rows: HashMap<ConfigKey, StoredNumbers, RandomState>,
    /// Number of values in a row.
    pub(super) length: Option<usize>,
}

/// State of an import.
pub(super) struct RowImport<'a> {
    store: &'a Store,
    from: &'a str,
    configurations: &'a Configurations,
    known: KnownFeatures,
    told: FeaturesImported,
    change: Change,
    keys: StringBuilder,
    numbers: ListBuilder<Float32Builder>,
    /// Number of values in rows that are not written yet.
    waiting: usize,
}

impl<'a> RowImport<'a> {
    pub(super) fn new(
        store: &'a Store,
        from: &'a str,
        configurations: &'a Configurations,
        known: KnownFeatures,
        name: &str,
        version: i64,
    ) -> Self {
        Self {
            store,
            from,
            configurations,
            known,
            told: FeaturesImported {
                name: name.to_owned(),
                revision: version,
                ..FeaturesImported::default()
            },
            change: Change::default(),
            keys: StringBuilder::new(),
            numbers: ListBuilder::new(Float32Builder::new()),
            waiting: 0,
        }
    }

    /// Adds rows of `key` and `numbers`.
    pub(super) async fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = KeyColumn::from_batch(batch)?;
        let lists = column::lists(batch, "numbers")?;
        for row in 0..batch.num_rows() {
            self.told.rows += 1;
            let line = line_number(self.from, self.told.rows);
            let list = lists.is_valid(row).then(|| lists.value(row));
            let list = list.as_ref().and_then(|list| list.as_primitive_opt());
            match self.check_row(keys.at(row), list, line) {
                Ok(Some((key, numbers))) => {
                    self.add(&key, &numbers);
                    if self.waiting >= MAX_FILE_NUMBERS {
                        self.write().await?;
                    }
                }
                Ok(None) => {}
                Err((category, reason)) => self.reject(line, category, reason),
            }
        }
        Ok(())
    }

    /// Validates a row; returns `None` for one that already exists.
    #[expect(clippy::type_complexity, reason = "a row, or its rejection")]
    fn check_row(
        &mut self,
        key: Option<ConfigKey>,
        list: Option<&PrimitiveArray<Float64Type>>,
        line: u64,
    ) -> std::result::Result<Option<(ConfigKey, Vec<f32>)>, (RowRejection, String)> {
        let Some(key) = key else {
            let reason = "`config_key` is NULL or not a key of 32 hexadecimal digits";
            return Err((RowRejection::NoKey, reason.to_owned()));
        };
        if !self.configurations.has(&key) {
            let reason = format!(
                "no configuration of the store has the key {}",
                key_text(key)
            );
            return Err((RowRejection::UnknownKey, reason));
        }
        let numbers = list.map_or_else(|| Err("it has no numbers".to_owned()), numbers);
        let numbers = numbers.map_err(|reason| (RowRejection::NoNumber, reason))?;
        let length = *self.known.length.get_or_insert(numbers.len());
        if numbers.len() != length {
            let (name, version) = (&self.told.name, self.told.revision);
            let reason = format!(
                "{} numbers, expected {length} as in {name}@{version}",
                numbers.len()
            );
            return Err((RowRejection::OtherLength, reason));
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        let hash = XxHash3_64::oneshot(&bytes);
        let Some(seen) = self.known.rows.get(&key) else {
            let line = Some(line);
            self.known.rows.insert(key, StoredNumbers { hash, line });
            return Ok(Some((key, numbers)));
        };
        match (seen.hash == hash, seen.line) {
            (true, None) => self.told.unchanged += 1,
            (true, Some(_)) => self.told.duplicates += 1,
            (false, line) => {
                let whose = line.map_or_else(
                    || format!("{}@{} has", self.told.name, self.told.revision),
                    |line| format!("line {line} has"),
                );
                let reason = format!("{whose} other numbers for {}", key_text(key));
                return Err((RowRejection::OtherNumbers, reason));
            }
        }
        Ok(None)
    }

    fn reject(&mut self, line: u64, category: RowRejection, reason: String) {
        let count = self.told.rejected.entry(category).or_default();
        *count += 1;
        if *count <= MAX_LISTED_REJECTIONS {
            self.told.rejected_rows.push(RejectedRow {
                line,
                category,
                reason,
            });
        }
    }

    fn add(&mut self, key: &ConfigKey, numbers: &[f32]) {
        self.told.added += 1;
        self.keys.append_value(key_text(*key));
        self.numbers.values().append_slice(numbers);
        self.numbers.append(true);
        self.waiting += numbers.len().max(1);
    }

    async fn write(&mut self) -> Result<()> {
        let keys: ArrayRef = Arc::new(self.keys.finish());
        let count = keys.len();
        self.waiting = 0;
        let versions = int64_array(std::iter::repeat_n(self.told.revision, count));
        let columns = Columns::from([
            ("name", repeat_text(&self.told.name, count)),
            ("version", versions),
            ("config_key", keys),
            ("numbers", Arc::new(self.numbers.finish())),
        ]);
        let file = write_single_file(self.store, FEATURES, columns).await?;
        self.change.add.extend(file.add);
        Ok(())
    }

    /// Returns the report, and the change that adds the new rows, if there are any.
    pub(super) async fn finish(mut self) -> Result<(FeaturesImported, Option<Change>)> {
        if self.waiting > 0 {
            self.write().await?;
        }
        let mut told = self.told;
        told.number_count = self.known.length.unwrap_or_default() as u64;
        told.configurations = self.known.rows.len() as u64;
        told.missing = self.configurations.missing(self.known.rows.keys());
        Ok((
            told,
            Some(self.change).filter(|change| !change.add.is_empty()),
        ))
    }
}

/// Converts the numbers of a row. The error is the reason why a number is invalid.
fn numbers(list: &PrimitiveArray<Float64Type>) -> std::result::Result<Vec<f32>, String> {
    if list.is_empty() {
        return Err("it has no numbers".to_owned());
    }
    let each = (0..).zip(list.iter());
    let each = each.map(|(place, number): (u64, Option<f64>)| {
        let number = number.ok_or_else(|| format!("number {place} is NULL"))?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "numbers that are too large become infinite"
        )]
        let short = number as f32;
        match short.is_finite() {
            true => Ok(short),
            false if number.is_finite() => Err(format!(
                "number {place} is outside the range of float32: {number}"
            )),
            false => Err(format!("number {place} is {number}")),
        }
    });
    each.collect()
}

/// Adds the stored numbers of configurations by key, to compare new rows with them.
pub(super) fn read_known(batch: &RecordBatch, known: &mut KnownFeatures) -> Result<()> {
    let keys = column::text(batch, "config_key")?;
    let lists = column::lists(batch, "numbers")?;
    for row in 0..batch.num_rows() {
        let numbers = lists.value(row);
        let numbers = numbers.as_primitive_opt::<arrow::datatypes::Float32Type>();
        let key = u128::from_str_radix(keys.value(row), 16);
        let (Some(numbers), Ok(key)) = (numbers, key) else {
            let reason = "a row without a key or numbers".to_owned();
            return Err(tsql_error::Error::damaged(FEATURES, reason));
        };
        let bytes = numbers.values().iter().flat_map(|one| one.to_le_bytes());
        let hash = XxHash3_64::oneshot(&bytes.collect::<Vec<u8>>());
        known.length.get_or_insert(numbers.len());
        let line = None;
        known
            .rows
            .insert(key.to_be_bytes(), StoredNumbers { hash, line });
    }
    Ok(())
}

//! Rows of features that are taken: looked at one by one, written in files of some size.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float32Builder, ListBuilder, PrimitiveArray, RecordBatch,
    StringBuilder,
};
use arrow::datatypes::Float64Type;
use twox_hash::XxHash3_64;

use super::configurations::{Configurations, Key};
use super::report::{FeaturesImported, RefusedRow, RowRefusal};
use crate::column;
use crate::column::made::{Columns, integers, repeated};
use crate::dedupe::one_file;
use crate::error::Result;
use crate::query::keyed::{Keys, key_text, line_of};
use crate::store::{Change, Store};

/// The table of features.
pub(super) const FEATURES: &str = "features";

/// Numbers of a data file at most: 64 MiB of them.
const FILE_NUMBERS: usize = 16 << 20;

/// Refused rows of each reason that a report lists.
const REFUSED_LISTED: u64 = 5;

/// What is known of a configuration: a hash of its numbers, and where they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) hash: u64,
    /// `None` in the store.
    pub(super) line: Option<u64>,
}

/// What the store has of a version, and what is new.
#[derive(Default)]
pub(super) struct Known {
    pub(super) rows: HashMap<Key, Seen, RandomState>,
    /// Numbers of a row.
    pub(super) length: Option<usize>,
}

/// An import under way.
pub(super) struct Taken<'a> {
    store: &'a Store,
    from: &'a str,
    configurations: &'a Configurations,
    known: Known,
    told: FeaturesImported,
    change: Change,
    keys: StringBuilder,
    numbers: ListBuilder<Float32Builder>,
    /// Numbers of the rows that are not written yet.
    waiting: usize,
}

impl<'a> Taken<'a> {
    pub(super) fn new(
        store: &'a Store,
        from: &'a str,
        configurations: &'a Configurations,
        known: Known,
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
                version,
                ..FeaturesImported::default()
            },
            change: Change::default(),
            keys: StringBuilder::new(),
            numbers: ListBuilder::new(Float32Builder::new()),
            waiting: 0,
        }
    }

    /// Takes rows of `key` and `numbers`.
    pub(super) async fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = Keys::of(batch)?;
        let lists = column::lists(batch, "numbers")?;
        for row in 0..batch.num_rows() {
            self.told.rows += 1;
            let line = line_of(self.from, self.told.rows);
            let list = lists.is_valid(row).then(|| lists.value(row));
            let list = list.as_ref().and_then(|list| list.as_primitive_opt());
            match self.looked_at(keys.at(row), list, line) {
                Ok(Some((key, numbers))) => {
                    self.add(&key, &numbers);
                    if self.waiting >= FILE_NUMBERS {
                        self.write().await?;
                    }
                }
                Ok(None) => {}
                Err((refusal, reason)) => self.refuse(line, refusal, reason),
            }
        }
        Ok(())
    }

    /// A row that is new; `None` for one that is there.
    #[expect(clippy::type_complexity, reason = "a row, or why it is none")]
    fn looked_at(
        &mut self,
        key: Option<Key>,
        list: Option<&PrimitiveArray<Float64Type>>,
        line: u64,
    ) -> std::result::Result<Option<(Key, Vec<f32>)>, (RowRefusal, String)> {
        let Some(key) = key else {
            let reason = "`config_key` is NULL, or no key of 32 hexadecimal digits";
            return Err((RowRefusal::NoKey, reason.to_owned()));
        };
        if !self.configurations.has(&key) {
            let reason = format!(
                "no configuration of the store has the key {}",
                key_text(key)
            );
            return Err((RowRefusal::UnknownKey, reason));
        }
        let numbers = list.map_or_else(|| Err("there are no numbers".to_owned()), numbers);
        let numbers = numbers.map_err(|reason| (RowRefusal::NoNumber, reason))?;
        let length = *self.known.length.get_or_insert(numbers.len());
        if numbers.len() != length {
            let (name, version) = (&self.told.name, self.told.version);
            let reason = format!("{} numbers, {name}@{version} has {length}", numbers.len());
            return Err((RowRefusal::OtherLength, reason));
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_le_bytes()).collect();
        let hash = XxHash3_64::oneshot(&bytes);
        let Some(seen) = self.known.rows.get(&key) else {
            let line = Some(line);
            self.known.rows.insert(key, Seen { hash, line });
            return Ok(Some((key, numbers)));
        };
        match (seen.hash == hash, seen.line) {
            (true, None) => self.told.known += 1,
            (true, Some(_)) => self.told.doubled += 1,
            (false, line) => {
                let whose = line.map_or_else(
                    || format!("{}@{} has", self.told.name, self.told.version),
                    |line| format!("line {line} has"),
                );
                let reason = format!("{whose} other numbers for {}", key_text(key));
                return Err((RowRefusal::OtherNumbers, reason));
            }
        }
        Ok(None)
    }

    fn refuse(&mut self, line: u64, refusal: RowRefusal, reason: String) {
        let count = self.told.refused.entry(refusal).or_default();
        *count += 1;
        if *count <= REFUSED_LISTED {
            self.told.refused_rows.push(RefusedRow {
                line,
                refusal,
                reason,
            });
        }
    }

    fn add(&mut self, key: &Key, numbers: &[f32]) {
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
        let versions = integers(std::iter::repeat_n(self.told.version, count));
        let columns = Columns::from([
            ("name", repeated(&self.told.name, count)),
            ("version", versions),
            ("config_key", keys),
            ("numbers", Arc::new(self.numbers.finish())),
        ]);
        let file = one_file(self.store, FEATURES, columns).await?;
        self.change.add.extend(file.add);
        Ok(())
    }

    /// What was done, and the change that adds the new rows, if there are any.
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

/// The numbers of a row, or why one of them is none.
fn numbers(list: &PrimitiveArray<Float64Type>) -> std::result::Result<Vec<f32>, String> {
    if list.is_empty() {
        return Err("there are no numbers".to_owned());
    }
    let each = (0..).zip(list.iter());
    let each = each.map(|(place, number): (u64, Option<f64>)| {
        let number = number.ok_or_else(|| format!("number {place} is NULL"))?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "what is too large is infinite"
        )]
        let short = number as f32;
        match short.is_finite() {
            true => Ok(short),
            false if number.is_finite() => {
                Err(format!("number {place} is beyond float32: {number}"))
            }
            false => Err(format!("number {place} is {number}")),
        }
    });
    each.collect()
}

/// The numbers that the store has of configurations, by their keys: what is compared.
pub(super) fn known(batch: &RecordBatch, known: &mut Known) -> Result<()> {
    let keys = column::text(batch, "config_key")?;
    let lists = column::lists(batch, "numbers")?;
    for row in 0..batch.num_rows() {
        let numbers = lists.value(row);
        let numbers = numbers.as_primitive_opt::<arrow::datatypes::Float32Type>();
        let key = u128::from_str_radix(keys.value(row), 16);
        let (Some(numbers), Ok(key)) = (numbers, key) else {
            let reason = "a row without a key or numbers".to_owned();
            return Err(crate::Error::damaged(FEATURES, reason));
        };
        let bytes = numbers.values().iter().flat_map(|one| one.to_le_bytes());
        let hash = XxHash3_64::oneshot(&bytes.collect::<Vec<u8>>());
        known.length.get_or_insert(numbers.len());
        let line = None;
        known.rows.insert(key.to_be_bytes(), Seen { hash, line });
    }
    Ok(())
}

//! The predictions: a file of them, or a query, by the keys of configurations.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Schema};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use crate::column;
use crate::error::{Error, Result};
use crate::query::frame;
use crate::query::keyed::{KEY, Keys, columns_of, key_sql, key_text, lacks, relation, wrong};

/// What names the platform, where predictions are of several.
const PLATFORM: &str = "platform";

/// A number that is higher for a faster configuration.
const PREDICTION: &str = "prediction";

/// A time in nanoseconds.
const PREDICTED_NS: &str = "predicted_ns";

/// How a query gives columns their names.
const RENAMED: &str = "(SELECT key AS config_key, score AS prediction FROM '...')";

/// Ends a chain.
const NONE: u32 = u32::MAX;

/// One prediction, and the next one of the same configuration.
#[derive(Clone, Copy, Debug)]
struct Row {
    value: f64,
    platform: u16,
    is_used: bool,
    next: u32,
}

/// Which predictions a configuration has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(u32);

/// All predictions.
pub(super) struct Predictions {
    from: String,
    is_time: bool,
    has_platforms: bool,
    platforms: Vec<String>,
    rows: Vec<Row>,
    slots: HashMap<[u8; 16], u32, RandomState>,
    doubled: u64,
    a_doubled: Option<String>,
    keyless: u64,
    odd: u64,
}

impl Predictions {
    /// Reads a file, or a query in parentheses, with `config_key`, one of `prediction` and `predicted_ns`, and, where there are several,
    /// `platform`.
    ///
    /// # Errors
    /// [`Error::Source`] where a column is missing, ambiguous or of another type, [`Error::Query`] where it cannot be read.
    pub(super) async fn read(context: &SessionContext, from: &str) -> Result<Self> {
        let schema = columns_of(context, from).await?;
        let mut predictions = Self::of(from, &schema)?;
        let sql = predictions.sql(&schema)?;
        let rows = frame(context, &sql).await?.execute_stream().await;
        predictions.take(rows.map_err(Error::Query)?).await?;
        Ok(predictions)
    }

    fn of(from: &str, schema: &Schema) -> Result<Self> {
        let has = |name: &str| schema.column_with_name(name).is_some();
        let is_time = match (has(PREDICTION), has(PREDICTED_NS)) {
            (true, false) => false,
            (false, true) => true,
            (true, true) => {
                return Err(wrong(
                    from,
                    format!(
                        "it has both `{PREDICTION}` and `{PREDICTED_NS}`\nhint: leave one out: (SELECT {KEY}, {PREDICTED_NS} FROM '...')"
                    ),
                ));
            }
            (false, false) => {
                return Err(lacks(
                    from,
                    schema,
                    &format!(
                        "`{PREDICTION}` (higher for a faster configuration) or `{PREDICTED_NS}` (a time)"
                    ),
                    RENAMED,
                ));
            }
        };
        if !has(KEY) {
            return Err(lacks(from, schema, &format!("`{KEY}`"), RENAMED));
        }
        Ok(Self {
            from: from.to_owned(),
            is_time,
            has_platforms: has(PLATFORM),
            platforms: Vec::new(),
            rows: Vec::new(),
            slots: HashMap::default(),
            doubled: 0,
            a_doubled: None,
            keyless: 0,
            odd: 0,
        })
    }

    fn sql(&self, schema: &Schema) -> Result<String> {
        let key = key_sql(&self.from, schema)?;
        let value = match self.is_time {
            true => PREDICTED_NS,
            false => PREDICTION,
        };
        let platform = match self.has_platforms {
            true => format!("arrow_cast({PLATFORM}, 'Utf8View')"),
            false => "arrow_cast('', 'Utf8View')".to_owned(),
        };
        Ok(format!(
            "SELECT {key} AS key, arrow_cast({value}, 'Float64') AS value, \
             {platform} AS platform FROM {} AS p",
            relation(&self.from)
        ))
    }

    async fn take(&mut self, mut rows: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = rows.next().await {
            self.take_batch(&batch.map_err(Error::Query)?)?;
        }
        Ok(())
    }

    fn take_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = Keys::of(batch)?;
        let values = column::numbers::<Float64Type>(batch, "value")?;
        let platforms = column::text(batch, "platform")?;
        let mut last = (String::new(), None);
        for row in 0..batch.num_rows() {
            let Some(key) = keys.at(row) else {
                self.keyless += 1;
                continue;
            };
            let Some(value) = column::value(values, row) else {
                // Nothing is predicted: it counts as missing.
                continue;
            };
            let platform = column::text_at(platforms, row).unwrap_or_default();
            if last.1.is_none() || last.0 != platform {
                last = (platform.to_owned(), Some(self.numbered(platform)?));
            }
            self.add(key, last.1.unwrap_or_default(), value)?;
        }
        Ok(())
    }

    fn numbered(&mut self, platform: &str) -> Result<u16> {
        let known = self.platforms.iter().position(|known| known == platform);
        let place = known.unwrap_or(self.platforms.len());
        if known.is_none() {
            self.platforms.push(platform.to_owned());
        }
        let many = |_| wrong(&self.from, "more than 65,535 platforms".to_owned());
        u16::try_from(place).map_err(many)
    }

    fn add(&mut self, key: [u8; 16], platform: u16, value: f64) -> Result<()> {
        let is_odd = !value.is_finite() || (self.is_time && value <= 0.0);
        self.odd += u64::from(is_odd);
        let many = |_| wrong(&self.from, "more than 2^32 predictions".to_owned());
        let place = u32::try_from(self.rows.len()).map_err(many)?;
        let head = self.slots.entry(key).or_insert(NONE);
        let mut next = *head;
        while let Some(row) = self.rows.get(at(next)) {
            if row.platform == platform {
                self.doubled += 1;
                self.a_doubled.get_or_insert_with(|| key_text(key));
                return Ok(());
            }
            next = row.next;
        }
        self.rows.push(Row {
            value: if is_odd { f64::NAN } else { value },
            platform,
            is_used: false,
            next: *head,
        });
        *head = place;
        Ok(())
    }

    /// Are they times, and not numbers that are higher for a faster configuration?
    pub(super) fn are_times(&self) -> bool {
        self.is_time
    }

    /// The predictions of a configuration.
    pub(super) fn slot(&self, key: &[u8]) -> Option<Slot> {
        let key = <[u8; 16]>::try_from(key).ok()?;
        self.slots.get(&key).copied().map(Slot)
    }

    /// Those of a platform, by a number; `None` where nothing is predicted for it.
    pub(super) fn platform(&self, name: &str) -> Option<u16> {
        let name = if self.has_platforms { name } else { "" };
        let place = self.platforms.iter().position(|known| known == name)?;
        u16::try_from(place).ok()
    }

    /// What is predicted for a configuration on a platform.
    pub(super) fn value(&mut self, slot: Slot, platform: u16) -> Option<f64> {
        let mut next = slot.0;
        while let Some(row) = self.rows.get_mut(at(next)) {
            if row.platform == platform {
                row.is_used = true;
                return Some(row.value);
            }
            next = row.next;
        }
        None
    }

    /// How many there are of configurations that `is_known` says the store has, and of all others, with one of these.
    pub(super) fn unused(&self, is_known: impl Fn(Slot) -> bool) -> Unused {
        let mut unused = Unused::default();
        for (key, head) in &self.slots {
            let mut next = *head;
            while let Some(row) = self.rows.get(at(next)) {
                if !row.is_used && is_known(Slot(*head)) {
                    unused.known += 1;
                } else if !row.is_used {
                    unused.unknown += 1;
                    unused.an_unknown.get_or_insert_with(|| key_text(*key));
                }
                next = row.next;
            }
        }
        unused
    }

    /// Where they come from.
    pub(super) fn from(&self) -> &str {
        &self.from
    }

    /// How many there are, without those that are doubled.
    pub(super) fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// How many are NaN or infinite, or a time of 0 or less.
    pub(super) fn odd(&self) -> u64 {
        self.odd
    }

    /// Is there a column that says the platform?
    pub(super) fn name_platforms(&self) -> bool {
        self.has_platforms
    }

    /// Rows that stand there again, with one of their keys, and rows without a key.
    pub(super) fn refused(&self) -> (u64, Option<&str>, u64) {
        (self.doubled, self.a_doubled.as_deref(), self.keyless)
    }
}

/// Predictions that no record took.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    pub(super) known: u64,
    pub(super) unknown: u64,
    pub(super) an_unknown: Option<String>,
}

impl Slot {
    /// A number of its own.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

fn at(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

//! Predictions from a file or a query, by configuration key.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Schema};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::key_columns::{
    KEY, KeyColumn, from_clause, key_expression, key_text, missing_column, source_columns,
    source_error,
};

/// Column with the platform, if predictions are for several.
const PLATFORM: &str = "platform";

/// Column with a number that is higher for a faster configuration.
const PREDICTION: &str = "prediction";

/// Column with a time in nanoseconds.
const PREDICTED_NS: &str = "predicted_ns";

/// Example of a query that renames columns.
const RENAMED: &str = "(SELECT key AS config_key, score AS prediction FROM '...')";

/// End of a chain.
const END_OF_CHAIN: u32 = u32::MAX;

/// A prediction, and the index of the next one of the same configuration.
#[derive(Clone, Copy, Debug)]
struct PredictionRow {
    value: f64,
    platform: u16,
    is_used: bool,
    next: u32,
}

/// Index of the first prediction of a configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct PredictionSlot(u32);

/// All predictions.
pub(crate) struct Predictions {
    from: String,
    is_time: bool,
    has_platforms: bool,
    platforms: Vec<String>,
    rows: Vec<PredictionRow>,
    slots: HashMap<[u8; 16], u32, RandomState>,
    doubled: u64,
    a_doubled: Option<String>,
    keyless: u64,
    invalid: u64,
}

impl Predictions {
    /// Reads a file, or a query in parentheses, with `config_key`, either `prediction` or `predicted_ns`, and, for
    /// several platforms, `platform`.
    ///
    /// # Errors
    /// [`Error::Source`] if a column is missing, ambiguous or of another type, [`Error::Query`] if it cannot be read.
    pub(crate) async fn read(context: &SessionContext, from: &str) -> Result<Self> {
        let schema = source_columns(context, from).await?;
        let mut predictions = Self::from_schema(from, &schema)?;
        let sql = predictions.sql(&schema)?;
        let rows = plan_query(context, &sql).await?.execute_stream().await;
        predictions.read_stream(rows.map_err(Error::Query)?).await?;
        Ok(predictions)
    }

    fn from_schema(from: &str, schema: &Schema) -> Result<Self> {
        let has = |name: &str| schema.column_with_name(name).is_some();
        let is_time = match (has(PREDICTION), has(PREDICTED_NS)) {
            (true, false) => false,
            (false, true) => true,
            (true, true) => {
                return Err(source_error(
                    from,
                    format!(
                        "it has both `{PREDICTION}` and `{PREDICTED_NS}`, expected one of them\n\
                         hint: select one: (SELECT {KEY}, {PREDICTED_NS} FROM '...')"
                    ),
                ));
            }
            (false, false) => {
                return Err(missing_column(
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
            return Err(missing_column(from, schema, &format!("`{KEY}`"), RENAMED));
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
            invalid: 0,
        })
    }

    fn sql(&self, schema: &Schema) -> Result<String> {
        let key = key_expression(&self.from, schema)?;
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
            from_clause(&self.from)
        ))
    }

    async fn read_stream(&mut self, mut rows: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = rows.next().await {
            self.read_batch(&batch.map_err(Error::Query)?)?;
        }
        Ok(())
    }

    fn read_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = KeyColumn::from_batch(batch)?;
        let values = column::numbers::<Float64Type>(batch, "value")?;
        let platforms = column::text(batch, "platform")?;
        let mut last = (String::new(), None);
        for row in 0..batch.num_rows() {
            let Some(key) = keys.at(row) else {
                self.keyless += 1;
                continue;
            };
            let Some(value) = column::value(values, row) else {
                // A NULL prediction counts as missing.
                continue;
            };
            let platform = column::text_at(platforms, row).unwrap_or_default();
            if last.1.is_none() || last.0 != platform {
                last = (platform.to_owned(), Some(self.platform_number(platform)?));
            }
            self.add(key, last.1.unwrap_or_default(), value)?;
        }
        Ok(())
    }

    fn platform_number(&mut self, platform: &str) -> Result<u16> {
        let known = self.platforms.iter().position(|known| known == platform);
        let place = known.unwrap_or(self.platforms.len());
        if known.is_none() {
            self.platforms.push(platform.to_owned());
        }
        let many = |_| source_error(&self.from, "more than 65,535 platforms".to_owned());
        u16::try_from(place).map_err(many)
    }

    fn add(&mut self, key: [u8; 16], platform: u16, value: f64) -> Result<()> {
        let is_invalid = !value.is_finite() || (self.is_time && value <= 0.0);
        self.invalid += u64::from(is_invalid);
        let many = |_| source_error(&self.from, "more than 2^32 predictions".to_owned());
        let place = u32::try_from(self.rows.len()).map_err(many)?;
        let head = self.slots.entry(key).or_insert(END_OF_CHAIN);
        let mut next = *head;
        while let Some(row) = self.rows.get(to_index(next)) {
            if row.platform == platform {
                self.doubled += 1;
                self.a_doubled.get_or_insert_with(|| key_text(key));
                return Ok(());
            }
            next = row.next;
        }
        self.rows.push(PredictionRow {
            value: if is_invalid { f64::NAN } else { value },
            platform,
            is_used: false,
            next: *head,
        });
        *head = place;
        Ok(())
    }

    /// Returns whether predictions are times, instead of numbers that are higher for a faster configuration.
    pub(crate) fn are_times(&self) -> bool {
        self.is_time
    }

    /// Predictions of a configuration.
    pub(super) fn slot(&self, key: &[u8]) -> Option<PredictionSlot> {
        let key = <[u8; 16]>::try_from(key).ok()?;
        self.slots.get(&key).copied().map(PredictionSlot)
    }

    /// Number of a platform; `None` if there are no predictions for it.
    pub(super) fn platform(&self, name: &str) -> Option<u16> {
        let name = if self.has_platforms { name } else { "" };
        let place = self.platforms.iter().position(|known| known == name)?;
        u16::try_from(place).ok()
    }

    /// Prediction for a configuration on a platform.
    pub(super) fn value(&mut self, slot: PredictionSlot, platform: u16) -> Option<f64> {
        let mut next = slot.0;
        while let Some(row) = self.rows.get_mut(to_index(next)) {
            if row.platform == platform {
                row.is_used = true;
                return Some(row.value);
            }
            next = row.next;
        }
        None
    }

    /// Counts the unused predictions: those of configurations in the store, according to `is_known`, and all others,
    /// with an example.
    pub(super) fn count_unused(
        &self,
        is_known: impl Fn(PredictionSlot) -> bool,
    ) -> UnusedPredictions {
        let mut unused = UnusedPredictions::default();
        for (key, head) in &self.slots {
            let mut next = *head;
            while let Some(row) = self.rows.get(to_index(next)) {
                if !row.is_used && is_known(PredictionSlot(*head)) {
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

    /// File or query that they were read from.
    pub(crate) fn source(&self) -> &str {
        &self.from
    }

    /// Number of predictions, without duplicates.
    pub(super) fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Number of predictions that are NaN or infinite, or a time of 0 or less.
    pub(super) fn invalid_count(&self) -> u64 {
        self.invalid
    }

    /// Returns whether there is a column with the platform.
    pub(super) fn name_platforms(&self) -> bool {
        self.has_platforms
    }

    /// Number of duplicate rows, with an example of their keys, and number of rows without a key.
    pub(super) fn rejected_counts(&self) -> (u64, Option<&str>, u64) {
        (self.doubled, self.a_doubled.as_deref(), self.keyless)
    }
}

/// Predictions that no record used.
#[derive(Clone, Debug, Default)]
pub(super) struct UnusedPredictions {
    pub(super) known: u64,
    pub(super) unknown: u64,
    pub(super) an_unknown: Option<String>,
}

impl PredictionSlot {
    /// Unique number of the slot.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

fn to_index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

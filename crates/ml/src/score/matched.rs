//! Matching of records and predictions, with checks.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::key_columns::source_error;

use super::predictions::{PredictionSlot, Predictions};

/// Predictions by configuration id of this store.
pub(crate) struct MatchedPredictions {
    pub(crate) predictions: Predictions,
    slots: HashMap<i64, PredictionSlot, RandomState>,
    selection: String,
    /// Platforms of the records, with their numbers among the predictions.
    platforms: Vec<(String, Option<u16>)>,
    records: u64,
    missing: u64,
    /// Whether any record has a prediction.
    is_any: bool,
}

impl MatchedPredictions {
    /// Loads the configurations of the records that satisfy `selection`.
    ///
    /// # Errors
    /// [`Error::Query`] for an invalid selection.
    pub(crate) async fn load(
        context: &SessionContext,
        predictions: Predictions,
        selection: &str,
    ) -> Result<Self> {
        let mut matched = Self {
            predictions,
            slots: HashMap::default(),
            selection: selection.to_owned(),
            platforms: Vec::new(),
            records: 0,
            missing: 0,
            is_any: false,
        };
        let graphs =
            format!("graph_id IN (SELECT DISTINCT graph_id FROM records WHERE {selection})");
        matched.load_configurations(context, &graphs).await?;
        Ok(matched)
    }

    async fn load_configurations(&mut self, context: &SessionContext, which: &str) -> Result<()> {
        let sql = format!(
            "SELECT config_id, key_bytes(config_key) AS key FROM configurations WHERE {which}"
        );
        let rows = plan_query(context, &sql).await?.execute_stream().await;
        let mut rows = rows.map_err(Error::Query)?;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            let numbers = column::numbers::<Int64Type>(&batch, "config_id")?;
            let keys = column::bytes(&batch, "key")?;
            for (number, key) in numbers.values().iter().zip(keys) {
                if let Some(slot) = key.and_then(|key| self.predictions.slot(key)) {
                    self.slots.insert(*number, slot);
                }
            }
        }
        Ok(())
    }

    /// Number of a platform among those of the records.
    pub(crate) fn platform_number(&mut self, name: &str) -> usize {
        let known = self.platforms.iter().position(|(known, _)| known == name);
        known.unwrap_or_else(|| {
            let number = self.predictions.platform(name);
            self.platforms.push((name.to_owned(), number));
            self.platforms.len() - 1
        })
    }

    /// Name of a platform.
    pub(super) fn platform_name(&self, number: usize) -> Option<&str> {
        let (name, _) = self.platforms.get(number)?;
        Some(name)
    }

    /// Returns whether the records have several platforms.
    pub(super) fn has_platforms(&self) -> bool {
        self.platforms.len() > 1
    }

    /// Returns the prediction for a record, and counts the record. A missing prediction is counted only if it is
    /// needed.
    pub(crate) fn prediction_for(
        &mut self,
        config_id: i64,
        platform: usize,
        is_needed: bool,
    ) -> Option<f64> {
        let number = self.platforms.get(platform).and_then(|(_, number)| *number);
        let slot = self.slots.get(&config_id).copied();
        let value = slot.zip(number);
        let value = value.and_then(|(slot, number)| self.predictions.value(slot, number));
        self.records += 1;
        self.is_any |= value.is_some();
        self.missing += u64::from(is_needed && value.is_none());
        value
    }

    /// Checks the match after all records have been read. Returns the number of unused predictions.
    ///
    /// # Errors
    /// [`Error::Source`] with the numbers of missing, duplicate and unknown predictions, [`Error::Ambiguous`] if
    /// predictions have no platform but there are several, [`Error::Empty`] without records, or without predictions for
    /// them.
    pub(crate) async fn check_all_seen(
        &mut self,
        context: &SessionContext,
        allow_missing: bool,
    ) -> Result<u64> {
        let from = self.predictions.source().to_owned();
        if self.records == 0 {
            return Err(Error::Empty(format!(
                "there are no records to score: none matches `{}`\n\
                 hint: `tsql split show` lists the parts of a split, `tsql \"SELECT * FROM \
                 records LIMIT 5\"` shows existing records",
                self.selection
            )));
        }
        if self.has_platforms() && !self.predictions.name_platforms() {
            let mut names: Vec<&str> = self
                .platforms
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            names.sort_unstable();
            return Err(Error::Ambiguous(format!(
                "{from}: it has no column `platform`, but the records are from {} platforms ({})\n\
                 hint: add the column, or score one platform: --where \"platform = '{}'\"",
                names.len(),
                names.join(", "),
                names.first().copied().unwrap_or_default(),
            )));
        }
        let mut unused = self.predictions.count_unused(|_| false);
        if unused.unknown > 0 {
            // Predictions for other graphs of the store are not unknown.
            self.load_configurations(context, "true").await?;
            let known: std::collections::HashSet<u32> =
                self.slots.values().map(|slot| slot.number()).collect();
            unused = self
                .predictions
                .count_unused(|slot| known.contains(&slot.number()));
        }
        let (doubled, a_doubled, keyless) = self.predictions.rejected_counts();
        let mut wrongs = Vec::new();
        let mut said = |count: u64, what: &str, example: Option<&str>| {
            if count > 0 {
                let example = example.map(|key| format!(", such as {key}"));
                wrongs.push(format!("{count} {what}{}", example.unwrap_or_default()));
            }
        };
        if !allow_missing {
            let of = format!("of {} records have no prediction", self.records);
            said(self.missing, &of, None);
        }
        said(doubled, "predictions are duplicates", a_doubled);
        said(keyless, "have no key", None);
        let unknown = "are for configurations that are not in the store";
        said(unused.unknown, unknown, unused.an_unknown.as_deref());
        if !wrongs.is_empty() {
            let hint = match wrongs.len() == 1 && self.missing > 0 && !allow_missing {
                true => "\nhint: --allow-missing skips these records, and counts them in the table",
                false => "",
            };
            return Err(source_error(&from, format!("{}{hint}", wrongs.join("; "))));
        }
        if !self.is_any {
            return Err(Error::Empty(format!(
                "{from}: none of its {} predictions is for a record to score",
                self.predictions.count()
            )));
        }
        Ok(unused.known)
    }

    /// Number of records, and of those without a prediction.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.records, self.missing)
    }
}

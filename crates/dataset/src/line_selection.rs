//! Selection of source lines by a predicate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::cast::as_int64_array;
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};
use datafusion::prelude::{SessionContext, col, lit};
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::LISTED;

/// Selected lines by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineSelection(BTreeMap<i64, Vec<i64>>);

impl LineSelection {
    /// Selects the rows of `from` that match a predicate, in which `source` is the name of the file.
    pub(crate) async fn select(
        context: &SessionContext,
        from: &str,
        predicate: &str,
    ) -> Result<Self> {
        let sql = format!(
            "SELECT source_id, line FROM \
             (SELECT r.*, f.name AS source FROM {from} AS r LEFT JOIN \
              (SELECT source_id AS of_id, name FROM sources) AS f ON f.of_id = r.source_id) AS chosen \
             WHERE ({predicate})"
        );
        let mut lines = Self::default();
        let stream = plan_query(context, &sql).await?.execute_stream().await;
        let mut stream = stream.map_err(Error::Query)?;
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(Error::Query)?;
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let numbers = column::numbers::<Int64Type>(&batch, "line")?;
            lines.add(sources.values(), numbers.values());
        }
        lines.sort();
        Ok(lines)
    }

    /// Adds lines, with the source of each.
    pub(crate) fn add(&mut self, sources: &[i64], lines: &[i64]) {
        for (source, line) in sources.iter().zip(lines) {
            self.0.entry(*source).or_default().push(*line);
        }
    }

    /// Adds the lines of another selection.
    pub(crate) fn extend(&mut self, others: &Self) {
        for (source, lines) in &others.0 {
            self.0.entry(*source).or_default().extend(lines);
        }
        self.sort();
    }

    /// Sorts and deduplicates the lines.
    pub(crate) fn sort(&mut self) {
        for lines in self.0.values_mut() {
            lines.sort_unstable();
            lines.dedup();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|lines| lines.len() as u64).sum()
    }

    /// Returns the sources.
    pub(crate) fn sources(&self) -> BTreeSet<i64> {
        self.0.keys().copied().collect()
    }

    /// Returns the number of lines of each source.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (i64, u64)> {
        self.0
            .iter()
            .map(|(source, lines)| (*source, lines.len() as u64))
    }

    /// Returns whether lines of this source are selected.
    pub(crate) fn has_source(&self, source: i64) -> bool {
        self.0.contains_key(&source)
    }

    /// Keeps only the lines of some sources.
    pub(crate) fn retain_sources(&mut self, is_wanted: impl Fn(i64) -> bool) {
        self.0.retain(|source, _| is_wanted(*source));
    }

    /// Returns the lines as a batch with the columns `chosen_id` and `chosen_line`.
    pub(crate) fn to_batch(&self) -> Result<RecordBatch> {
        let all = self.0.iter();
        let all = all.flat_map(|(source, lines)| lines.iter().map(move |line| (*source, *line)));
        let (sources, lines): (Vec<i64>, Vec<i64>) = all.unzip();
        let columns = [("chosen_id", sources), ("chosen_line", lines)];
        let columns = columns.map(|(name, numbers)| {
            let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
            (name, numbers)
        });
        RecordBatch::try_from_iter(columns).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Removes the lines of each source from `end` on.
    pub(crate) fn retain_before(&mut self, end: impl Fn(i64) -> i64) {
        for (source, lines) in &mut self.0 {
            let end = end(*source);
            lines.retain(|line| *line < end);
        }
        self.0.retain(|_, lines| !lines.is_empty());
    }

    /// Removes the lines of another selection.
    pub(crate) fn subtract(&mut self, others: &Self) {
        for (source, lines) in &mut self.0 {
            if let Some(others) = others.0.get(source) {
                lines.retain(|line| others.binary_search(line).is_err());
            }
        }
        self.0.retain(|_, lines| !lines.is_empty());
    }

    /// Returns a filter for the lines, in a table with `source_id` and `line`.
    pub(crate) fn to_filter(&self) -> Expr {
        let lines = Arc::new(self.0.clone());
        let is_chosen = move |args: &[ColumnarValue]| {
            let arrays = ColumnarValue::values_to_arrays(args)?;
            let [sources, numbers] = arrays.as_slice() else {
                let wrong = "is_chosen expects two arguments".to_owned();
                return Err(datafusion::error::DataFusionError::Internal(wrong));
            };
            let (sources, numbers) = (as_int64_array(sources)?, as_int64_array(numbers)?);
            let pairs = sources.values().iter().zip(numbers.values());
            let found = pairs.map(|(source, line)| {
                let lines = lines.get(source);
                lines.is_some_and(|lines| lines.binary_search(line).is_ok())
            });
            let found: BooleanArray = found.map(Some).collect();
            Ok(ColumnarValue::Array(Arc::new(found) as ArrayRef))
        };
        let function = create_udf(
            "is_chosen",
            vec![DataType::Int64, DataType::Int64],
            DataType::Boolean,
            Volatility::Immutable,
            Arc::new(is_chosen),
        );
        let chosen = function.call(vec![col("source_id"), col("line")]);
        if self.0.len() > LISTED {
            return chosen;
        }
        in_sources(self.0.keys().copied()).and(chosen)
    }
}

/// Returns a filter for rows of these sources.
pub(crate) fn in_sources(sources: impl Iterator<Item = i64>) -> Expr {
    col("source_id").in_list(sources.map(lit).collect(), false)
}

/// Returns the error of an empty selection.
pub(crate) fn nothing_selected(from: &str, predicate: &str) -> Error {
    Error::Empty(format!(
        "no row of {from} matches `{predicate}`\n\
         hint: `tsql \"SELECT * FROM {from} LIMIT 5\"` shows existing rows"
    ))
}

/// Returns the error of a selection of all rows without the option for it.
pub(crate) fn everything_selected(from: &str) -> Error {
    Error::Argument {
        name: "all",
        reason: format!("the condition selects every row of {from}\nhint: --all confirms this"),
    }
}

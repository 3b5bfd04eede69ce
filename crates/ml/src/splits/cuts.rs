//! Stored cuts: in time, and in the lines of each file.

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use tsql_dialect::splits::{StoredKind, StoredPart, line_key};
use tsql_error::{Error, Result};
use tsql_functions::part_of_split::{PARTS, Ratios};

use super::scope::Scope;

/// Computes where valid and test begin: the first second that has at least the required fraction of records
/// before it. Records of one second are never divided.
pub(super) async fn time_cuts(scope: &Scope<'_>, ratios: Ratios) -> Result<Vec<StoredPart>> {
    let sql = "SELECT date_part('epoch', measured_at) AS second, count(*) AS n FROM $rows WHERE measured_at IS NOT NULL GROUP BY 1 ORDER BY 1";
    let mut seconds: Vec<(i64, i64)> = Vec::new();
    for batch in scope.collect(sql).await? {
        seconds.extend(integers(&batch, 0)?.into_iter().zip(integers(&batch, 1)?));
    }
    let all: i64 = seconds.iter().map(|(_, count)| count).sum();
    let ends = ratios.cumulative_fractions();
    let mut cuts = Vec::new();
    for (place, part) in PARTS.iter().enumerate().skip(1) {
        let before = ends.get(place - 1).copied().unwrap_or_default();
        let own = ends.get(place).copied().unwrap_or_default() - before;
        if own <= 0.0 {
            continue;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a fraction of some millions of records"
        )]
        let wanted = before * all as f64;
        let mut seen = 0;
        let begins = seconds.iter().find(|(_, count)| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a fraction of some millions of records"
            )]
            let begins = seen as f64 >= wanted;
            seen += count;
            begins
        });
        if let Some((second, _)) = begins {
            cuts.push(cut_entry((*part).to_owned(), second.to_string()));
        }
    }
    Ok(cuts)
}

/// Computes the last line of each file in the test set: the first `n - floor(n * train)` of `n` records, as
/// TenSet does.
pub(super) async fn line_cuts(scope: &Scope<'_>, ratios: Ratios) -> Result<Vec<StoredPart>> {
    let [train, valid, _] = ratios.cumulative_fractions();
    if valid > train {
        return Err(Error::Argument {
            name: "ratio",
            reason: "a split by line has only the parts train and test\nhint: 90/0/10".to_owned(),
        });
    }
    let sql = format!(
        "SELECT source_id, max(CASE WHEN place <= n - CAST(floor(n * {train:?}) AS BIGINT) THEN line ELSE 0 END) AS last FROM \
         (SELECT source_id, line, row_number() OVER (PARTITION BY source_id ORDER BY line) AS place, \
         count(*) OVER (PARTITION BY source_id) AS n FROM $rows) GROUP BY source_id"
    );
    let mut cuts = Vec::new();
    for batch in scope.collect(&sql).await? {
        let pairs = integers(&batch, 0)?.into_iter().zip(integers(&batch, 1)?);
        cuts.extend(pairs.map(|(source, last)| cut_entry(line_key(source), last.to_string())));
    }
    Ok(cuts)
}

fn cut_entry(key: String, value: String) -> StoredPart {
    StoredPart {
        kind: StoredKind::Cut,
        key,
        value: Some(value),
    }
}

/// Returns a column of integers, without NULLs.
pub(super) fn integers(batch: &RecordBatch, place: usize) -> Result<Vec<i64>> {
    let column = cast(batch.column(place), &DataType::Int64);
    let column = column.map_err(|error| Error::Query(error.into()))?;
    let numbers = column.as_primitive::<Int64Type>();
    Ok((0..numbers.len())
        .filter(|row| numbers.is_valid(*row))
        .map(|row| numbers.value(row))
        .collect())
}

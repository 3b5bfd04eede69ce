//! Summary of the records of a side.

use arrow::array::Array as _;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;

use crate::compare::comparison::ComparedSide;

/// Summarizes the records of a side.
///
/// # Errors
/// [`Error::Empty`] if no record matches the predicate.
pub(in crate::compare) async fn summarize_side(
    context: &SessionContext,
    name: &str,
    predicate: &str,
) -> Result<ComparedSide> {
    let sql = format!(
        "SELECT arrow_cast(platform, 'Utf8View') AS platform, count(*) AS records, \
         count(*) FILTER (WHERE error_no <> 0) AS failed, \
         arrow_cast(CAST(CAST(min(measured_at) AS DATE) AS VARCHAR), 'Utf8View') AS first_day, \
         arrow_cast(CAST(CAST(max(measured_at) AS DATE) AS VARCHAR), 'Utf8View') AS last_day \
         FROM records WHERE {predicate} GROUP BY platform ORDER BY platform"
    );
    let mut compared = ComparedSide {
        name: name.to_owned(),
        ..ComparedSide::default()
    };
    for batch in collect(context, &sql).await? {
        let platforms = column::text(&batch, "platform")?;
        let sums = |name| column::numbers::<Int64Type>(&batch, name);
        let days = [
            column::text(&batch, "first_day")?,
            column::text(&batch, "last_day")?,
        ];
        for row in 0..batch.num_rows() {
            compared.platforms.push(platforms.value(row).to_owned());
            compared.records += sums("records")?.value(row).cast_unsigned();
            compared.failed_records += sums("failed")?.value(row).cast_unsigned();
            let [first, last] = days.map(|days| {
                let is_known = !days.is_null(row);
                is_known.then(|| days.value(row).to_owned())
            });
            // Dates of ISO 8601 sort like text.
            let earliest = compared.first_day.take().into_iter().chain(first).min();
            compared.first_day = earliest;
            compared.last_day = compared.last_day.take().max(last);
        }
    }
    if compared.records == 0 {
        let reason = format!(
            "no records match `{name}`\nhint: `tsql \"SELECT * FROM records LIMIT 5\"` shows existing records"
        );
        return Err(Error::Empty(reason));
    }
    compared.commits = commits(context, predicate).await?;
    Ok(compared)
}

/// Returns the values of the label `commit` of the sources of a side, at most [`MAX_COMMITS`].
async fn commits(context: &SessionContext, predicate: &str) -> Result<Vec<String>> {
    /// Maximum number of commits that a report names.
    const MAX_COMMITS: usize = 5;
    let known = "SELECT count(*) AS labels FROM labels WHERE key = 'commit'";
    let mut labels = 0;
    for batch in collect(context, known).await? {
        let counts = column::numbers::<Int64Type>(&batch, "labels")?;
        labels += counts.values().iter().sum::<i64>();
    }
    if labels == 0 {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT DISTINCT arrow_cast(value, 'Utf8View') AS value FROM labels WHERE key = 'commit' AND source_id IN \
         (SELECT source_id FROM records WHERE {predicate}) ORDER BY value LIMIT {MAX_COMMITS}"
    );
    let mut commits = Vec::new();
    for batch in collect(context, &sql).await? {
        let values = column::text(&batch, "value")?;
        commits.extend(values.iter().flatten().map(str::to_owned));
    }
    Ok(commits)
}

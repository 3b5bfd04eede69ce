//! Check that runtimes of records are the means of their repeats.

use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_codecs::repeats;
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::report::CheckReport;

pub(super) async fn check_runtimes(
    context: &SessionContext,
    checked: &mut CheckReport,
) -> Result<()> {
    let sql = "SELECT source_id, line, runtime_ns, repeat_count, repeats FROM stored.records \
               WHERE runtime_ns IS NOT NULL";
    let frame = context.sql(sql).await.map_err(Error::Query)?;
    let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
    let (mut wrong, mut first) = (0_u64, None);
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let (sources, lines) = (number("source_id")?, number("line")?);
        let runtimes = column::numbers::<Float64Type>(&batch, "runtime_ns")?;
        let counts = column::numbers::<Int32Type>(&batch, "repeat_count")?;
        let repeats = column::bytes(&batch, "repeats")?;
        for row in 0..batch.num_rows() {
            let bytes = column::bytes_at(repeats, row);
            if !repeats::is_mean(runtimes.value(row), counts.value(row), bytes) {
                wrong += 1;
                first.get_or_insert((sources.value(row), lines.value(row)));
            }
        }
    }
    if let Some((source, line)) = first {
        let reason = format!(
            "{wrong} runtimes are not the means of their repeats, the first in line {line} of source {source}"
        );
        checked.damage.push(("records".to_owned(), reason));
    }
    Ok(())
}

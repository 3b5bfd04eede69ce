//! TVM's auto_scheduler (Ansor): exports records as log lines.
//!
//! ```
//! use tsql_dataset::auto_scheduler;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let mut log = Vec::new();
//! let lines = auto_scheduler::export_lines(&store, "error_no = 0", &mut log).await?;
//! assert_eq!(log.split(|&byte| byte == b'\n').count() as u64, lines + 1);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

use std::io::{self, Write};
use std::path::PathBuf;

use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_adapters::formats::lines::LineWriter;
use tsql_adapters::formats::{line_datasets, lines};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::Dialect;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Writes the records that match `predicate` (SQL over `records`) as auto_scheduler lines, which TVM can load,
/// in the order of their sources and lines; returns their number.
///
/// # Errors
/// [`Error::Query`] for an invalid predicate, [`Error::Refused`] if it selects records of a database, whose
/// lines refer to their programs by position in another file: `metaschedule::export_databases` writes both.
pub async fn export_lines(
    store: &Store,
    predicate: &str,
    out: &mut (dyn Write + Send),
) -> Result<u64> {
    let context = open_session(store).await?;
    reject_lines_of_databases(&context, predicate).await?;
    let mut lines = Vec::new();
    for &dialect in Dialect::ALL {
        let own = LineWriter::load(&context, dialect).await?;
        lines.push((dialect.dataset(), own));
    }
    let mut rows = lines::select_records(&context, &line_datasets(), predicate).await?;
    let mut count = 0;
    let mut line = Vec::new();
    let failed = |error: io::Error| Error::Io {
        path: PathBuf::from("standard output"),
        source: error,
    };
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let mut spelled = lines
            .iter_mut()
            .map(|(dataset, lines)| Ok((*dataset, lines.for_batch(&batch)?)))
            .collect::<Result<Vec<_>>>()?;
        for row in lines::record_rows(&batch)? {
            let own = spelled.iter_mut().find(|(name, _)| *name == row.dataset);
            let Some((_, own)) = own else { continue };
            line.clear();
            own.write(&row, false, &mut line)?;
            while line.last() == Some(&b'\r') {
                line.pop();
            }
            line.push(b'\n');
            out.write_all(&line).map_err(failed)?;
            count += 1;
        }
    }
    out.flush().map_err(failed)?;
    Ok(count)
}

/// Rejects a selection with records whose lines mean nothing without another file.
async fn reject_lines_of_databases(context: &SessionContext, predicate: &str) -> Result<()> {
    for &dialect in Dialect::ALL {
        if !dialect.needs_companion_graphs() {
            continue;
        }
        let dataset = dialect.dataset();
        let sql = format!(
            "SELECT count(*) AS rows FROM records WHERE dataset = '{dataset}' AND ({predicate})"
        );
        let mut count = 0;
        for batch in collect(context, &sql).await? {
            let rows = column::numbers::<Int64Type>(&batch, "rows")?;
            count += rows.values().iter().sum::<i64>();
        }
        if count > 0 {
            return Err(Error::Refused(format!(
                "{count} of the selected records are {}, whose lines cannot be read without the \
                 file of their workloads\n\
                 hint: `tsql export databases -o DIR` writes both files; --where \"dataset <> \
                 '{dataset}'\" excludes them",
                dialect.description()
            )));
        }
    }
    Ok(())
}

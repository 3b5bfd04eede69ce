//! TVM's auto_scheduler (Ansor): records as lines that it loads.
//!
//! ```
//! use tsql::{Store, auto_scheduler};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let mut log = Vec::new();
//! let lines = auto_scheduler::export_lines(&store, "error_no = 0", &mut log).await?;
//! assert_eq!(log.split(|&byte| byte == b'\n').count() as u64, lines + 1);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

use std::io::{self, Write};
use std::path::PathBuf;

use futures::StreamExt as _;
use tsql_formats::Dialect;

use crate::error::{Error, Result};
use crate::formats::line_datasets;
use crate::formats::lines::{self, Lines};
use crate::store::Store;

/// Writes the records that `predicate` (SQL over `records`) selects as auto_scheduler lines
/// that TVM loads, in the order of their sources and lines; returns their number.
///
/// # Errors
/// [`Error::Query`] for a predicate that is no SQL.
pub async fn export_lines(
    store: &Store,
    predicate: &str,
    out: &mut (dyn Write + Send),
) -> Result<u64> {
    let context = store.session().await?;
    let mut lines = Vec::new();
    for dialect in Dialect::ALL {
        let own = Lines::load(&context, dialect).await?;
        lines.push((dialect.dataset(), own));
    }
    let mut rows = lines::selected(&context, &line_datasets(), predicate).await?;
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
            .map(|(dataset, lines)| Ok((*dataset, lines.of(&batch)?)))
            .collect::<Result<Vec<_>>>()?;
        for row in lines::rows_of(&batch)? {
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

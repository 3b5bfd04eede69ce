//! `split` and `table_version`: calls that planning replaces (`query::statement`).
//!
//! The functions of this module represent them in function lists. They return an error if the query was planned by
//! other means.

use arrow::datatypes::DataType;
use datafusion::common::exec_err;

use super::function_docs::FunctionDocs;
use super::scalar::Scalar;

pub(super) fn split_udf() -> Scalar {
    let about = FunctionDocs::new(
        "split",
        "Part of a stored split (`tsql split create`) that a row of `records` belongs to, by the keys of the row: \
         `train`, `valid` or `test`. NULL for a row without a part. `split('name')` uses the newest version, \
         `split('name@2')` always version 2",
        "SELECT split('by-task') AS part, count(*) FROM records GROUP BY part",
    )
    .argument("name", DataType::Utf8View, "name of the split as a quoted literal, with or without a version")
    .argument("rows", DataType::Utf8View, "name of the relation with the keys, if several relations have keys")
    .optional()
    .source("tsql");
    Scalar::new(&about, DataType::Utf8View, |_| {
        exec_err!(
            "split(...) works only in the text of a query that tsql plans (`tsql::query::run_sql`), with a quoted name"
        )
    })
}

pub(super) fn table_version_udf() -> Scalar {
    let about = FunctionDocs::new(
        "table_version",
        "Version of a table that the query reads, as in `--at records@12`. Store it with results that depend on all \
         rows, such as training targets",
        "SELECT table_version('records')",
    )
    .argument("table", DataType::Utf8View, "name of the table as a quoted literal")
    .source("tsql");
    Scalar::new(&about, DataType::Int64, |_| {
        exec_err!(
            "table_version(...) works only in the text of a query that tsql plans (`tsql::query::run_sql`), with a \
             quoted table"
        )
    })
}

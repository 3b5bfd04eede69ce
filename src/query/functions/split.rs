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
        "`train`, `valid` or `test`: the part of a stored split (`tsql split create`) that a row of `records` belongs to, by the \
         keys that the row has; NULL for one that is in none. `split('name')` is the newest version, `split('name@2')` stays what it is",
        "SELECT split('by-task') AS part, count(*) FROM records GROUP BY part",
    )
    .argument("name", DataType::Utf8View, "name of the split, in quotes, with or without a version")
    .argument("rows", DataType::Utf8View, "where several relations have keys: the name of the one that is meant")
    .optional()
    .source("tsql");
    Scalar::new(&about, DataType::Utf8View, |_| {
        exec_err!(
            "split(...) is answered when the text of a question is planned: its name is a text in quotes, and the question goes \
             through tsql (`tsql::query::run_sql`)"
        )
    })
}

pub(super) fn table_version_udf() -> Scalar {
    let about = FunctionDocs::new(
        "table_version",
        "The version of a table of the store that a question reads, as `--at records@12` takes it: what follows from the best of \
         all rows names it",
        "SELECT table_version('records')",
    )
    .argument("table", DataType::Utf8View, "name of the table, in quotes")
    .source("tsql");
    Scalar::new(&about, DataType::Int64, |_| {
        exec_err!(
            "table_version(...) is answered when the text of a question is planned: its table is a text in quotes, and the question \
             goes through tsql (`tsql::query::run_sql`)"
        )
    })
}

//! `split` and `table_version`: calls that are answered when a question is planned (`query::statement`). What is here stands for
//! them in lists of functions, and says so where a question is planned by something else.

use arrow::datatypes::DataType;
use datafusion::common::exec_err;

use super::about::About;
use super::scalar::Scalar;

pub(super) fn part() -> Scalar {
    let about = About::new(
        "split",
        "`train`, `valid` or `test`: the part of a stored split (`tsql split create`) that a row of `records` belongs to, by the \
         keys that the row has; NULL for one that is in none. `split('name')` is the newest version, `split('name@2')` stays what it is",
        "SELECT split('by-task') AS part, count(*) FROM records GROUP BY part",
    )
    .takes("name", DataType::Utf8View, "name of the split, in quotes, with or without a version")
    .takes("rows", DataType::Utf8View, "where several relations have keys: the name of the one that is meant")
    .optionally()
    .by("tsql");
    Scalar::new(&about, DataType::Utf8View, |_| {
        exec_err!(
            "split(...) is answered when the text of a question is planned: its name is a text in quotes, and the question goes \
             through tsql (`tsql::query::ask`)"
        )
    })
}

pub(super) fn version() -> Scalar {
    let about = About::new(
        "table_version",
        "The version of a table of the store that a question reads, as `--at records@12` takes it: what follows from the best of \
         all rows names it",
        "SELECT table_version('records')",
    )
    .takes("table", DataType::Utf8View, "name of the table, in quotes")
    .by("tsql");
    Scalar::new(&about, DataType::Int64, |_| {
        exec_err!(
            "table_version(...) is answered when the text of a question is planned: its table is a text in quotes, and the question \
             goes through tsql (`tsql::query::ask`)"
        )
    })
}

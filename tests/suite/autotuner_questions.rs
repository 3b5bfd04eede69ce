//! Queries over real files of autotuners, compared with values that Python computed from the files alone. The test that
//! ingests the files, in `autotuners.rs`, runs them.
//!
//! `tests/autotuner_questions` has a file of queries for each group of expected values. A comment with group and name
//! precedes each query. It may be followed by two more: `-- exception: REASON` where tsql differs from the expected
//! value, and `-- result: JSON` with the value of tsql. An exception without a query has no result in tsql.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tsql::Store;
use tsql::arrow::array::{Array as _, AsArray as _, RecordBatch};
use tsql::arrow::compute::cast;
use tsql::arrow::datatypes::DataType;
use tsql::datafusion::prelude::SessionContext;

use crate::support::Place;

/// Relative difference of floating-point numbers that counts as equal: most times are converted from milliseconds.
const TOLERANCE: f64 = 1e-9;

/// Stack of the thread that plans queries. Plans of unoptimized code are deep.
const STACK_BYTES: usize = 64 << 20;

/// Query with its expected value.
struct Case {
    name: String,
    sql: String,
    expected: Value,
    exception: Option<String>,
    result: Option<Value>,
}

/// Result of a query as text, with the names of its columns. NULL is `null`.
#[derive(Debug)]
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Returns the queries of a group without expected values, by name.
fn parse_queries(group: &str, text: &str) -> BTreeMap<String, Case> {
    let mut cases = BTreeMap::new();
    for part in text.split(&format!("-- {group}: ")).skip(1) {
        let (name, body) = part.split_once('\n').unwrap();
        let comment = |key: &str| body.lines().find_map(|line| line.strip_prefix(key));
        let sql: Vec<&str> = body
            .lines()
            .filter(|line| !line.starts_with("--"))
            .collect();
        let case = Case {
            name: format!("{group}: {name}"),
            sql: sql.join("\n").trim().to_owned(),
            expected: Value::Null,
            exception: comment("-- exception: ").map(str::to_owned),
            result: comment("-- result: ").map(|json| serde_json::from_str(json).unwrap()),
        };
        let earlier = cases.insert(name.to_owned(), case);
        assert!(earlier.is_none(), "{group}: {name} occurs twice");
    }
    cases
}

/// Returns a case for each expected value. Values without a query and queries without a value are differences.
fn read_cases(expected: &Value, differences: &mut Vec<String>) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/autotuner_questions");
    let mut cases = Vec::new();
    for (group, values) in expected.as_object().unwrap() {
        let text = std::fs::read_to_string(folder.join(format!("{group}.sql")));
        let mut queries = parse_queries(group, &text.unwrap_or_default());
        for (name, value) in values.as_object().unwrap() {
            match queries.remove(name) {
                Some(case) => cases.push(Case {
                    expected: value.clone(),
                    ..case
                }),
                None => differences.push(format!("{group}: {name}: no query")),
            }
        }
        let rest = queries.into_values();
        differences.extend(rest.map(|case| format!("{}: no expected value", case.name)));
    }
    cases
}

/// Returns the cells of a batch as text, row by row.
fn text_rows(batch: &RecordBatch) -> Vec<Vec<String>> {
    let columns = batch.columns().iter();
    let columns: Vec<_> = columns
        .map(|column| cast(column, &DataType::Utf8).unwrap())
        .collect();
    let rows = 0..batch.num_rows();
    rows.map(|row| {
        let cells = columns.iter().map(|column| {
            let texts = column.as_string::<i32>();
            let text = if texts.is_null(row) {
                "null"
            } else {
                texts.value(row)
            };
            text.to_owned()
        });
        cells.collect()
    })
    .collect()
}

async fn run_query(session: &SessionContext, sql: &str) -> Result<Table, String> {
    let frame = tsql::query::run_sql(session, sql, &[]).await;
    let frame = frame.map_err(|error| error.to_string())?;
    let names = frame.schema().fields().iter();
    let names = names.map(|field| field.name().clone()).collect();
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let rows = batches.iter().flat_map(text_rows).collect();
    Ok(Table { names, rows })
}

/// Runs all queries in one session of a store.
fn run_queries(folder: PathBuf, queries: Vec<String>) -> Vec<Result<Table, String>> {
    let work = move || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.enable_all().thread_stack_size(STACK_BYTES).build();
        runtime.unwrap().block_on(async {
            let store = Store::open(folder.to_str().unwrap()).await.unwrap();
            let session = store.session().await.unwrap();
            let mut results = Vec::new();
            for sql in &queries {
                results.push(run_query(&session, sql).await);
            }
            results
        })
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(work).unwrap().join().unwrap()
}

/// Returns whether a cell is an expected value. Objects are compared as JSON, so that the order of their fields is free.
fn is_equal(expected: &Value, found: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    match expected {
        Value::Number(number) => {
            let expected = number.as_f64().unwrap();
            let tolerance = if number.is_f64() { TOLERANCE } else { 0.0 };
            let difference = found.parse::<f64>().map(|found| (found - expected).abs());
            difference.is_ok_and(|difference| difference <= tolerance * expected.abs())
        }
        Value::String(text) if text.starts_with('{') => json(text) == json(found),
        Value::String(text) => text == found,
        other => json(found).as_ref() == Some(other),
    }
}

/// Appends the entries of nested lists.
fn flatten_list<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten_list(value, found)),
        value => found.push(value),
    }
}

/// Appends the entries of nested objects. Keys are joined by `_`.
fn flatten_object<'a>(name: &str, value: &'a Value, found: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten_object(&format!("{name}_{key}"), value, found);
            }
        }
        value => {
            found.insert(name.trim_start_matches('_').to_owned(), value);
        }
    }
}

/// Returns whether a result has the expected values. The cells of a list are in the order of the rows. An object has its
/// fields in rows of a key and a value, or in the columns of a single row.
fn has_values(expected: &Value, table: &Table) -> bool {
    if !expected.is_object() {
        let mut values = Vec::new();
        flatten_list(expected, &mut values);
        let cells = table.rows.concat();
        let mut pairs = values.iter().zip(&cells);
        return values.len() == cells.len() && pairs.all(|(value, cell)| is_equal(value, cell));
    }
    let mut values = BTreeMap::new();
    flatten_object("", expected, &mut values);
    let cells: BTreeMap<&String, &String> = match table.rows.as_slice() {
        [row] if row.len() > 2 => table.names.iter().zip(row).collect(),
        rows => rows.iter().map(|row| (&row[0], &row[1])).collect(),
    };
    let mut pairs = values.iter();
    values.len() == cells.len()
        && pairs.all(|(name, value)| cells.get(name).is_some_and(|cell| is_equal(value, cell)))
}

/// Returns how a result differs from that of its case.
fn difference(case: &Case, result: &Result<Table, String>) -> Option<String> {
    let name = &case.name;
    if case.sql.is_empty() {
        let has_reason = case.exception.is_some();
        return (!has_reason).then(|| format!("{name}: no query and no reason"));
    }
    if case.exception.is_some() != case.result.is_some() {
        return Some(format!("{name}: an exception has a reason and a result"));
    }
    let table = match result {
        Ok(table) => table,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    if case.exception.is_some() && has_values(&case.expected, table) {
        return Some(format!("{name}: has the expected value, no exception"));
    }
    let wanted = case.result.as_ref().unwrap_or(&case.expected);
    let rows = &table.rows;
    (!has_values(wanted, table)).then(|| format!("{name}: {rows:?} instead of {wanted}"))
}

/// Runs all queries over a store with `data/autotuners` and `data/tenset` of the shared files, and returns how the results
/// differ from the values in `golden`.
pub(crate) fn differences(place: &Place, golden: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    let cases = read_cases(golden, &mut differences);
    let queries = cases.iter().map(|case| case.sql.clone()).collect();
    let results = run_queries(place.path().join(".tsql"), queries);
    let compared = cases.iter().zip(&results);
    differences.extend(compared.filter_map(|(case, result)| difference(case, result)));
    for case in &cases {
        if let Some(reason) = &case.exception {
            eprintln!("exception: {}: {reason}", case.name);
        }
    }
    eprintln!("{} queries", cases.len());
    differences
}

#[test]
fn other_values_and_missing_reasons_are_differences() {
    let text = "-- g: list\nSELECT 1;\n\n-- g: map\n-- exception: why\n-- result: {\"a\": 1, \"b\": 2.5}\n\
                SELECT 2;\n\n-- g: nothing\n";
    let mut cases = parse_queries("g", text);
    let table = |names: &[&str], rows: &[&[&str]]| {
        let owned =
            |texts: &[&str]| -> Vec<String> { texts.iter().map(|&text| text.to_owned()).collect() };
        let rows = rows.iter().map(|row| owned(row)).collect();
        let names = owned(names);
        Ok(Table { names, rows })
    };
    let list = cases.get_mut("list").unwrap();
    assert_eq!(list.sql, "SELECT 1;");
    list.expected = serde_json::json!([[{"x": 1, "y": 2}, 0.5], 7]);
    let json = r#"{"y": 2, "x": 1}"#;
    let difference_of_list = |rows: &[&[&str]]| difference(list, &table(&["a", "b", "c"], rows));
    assert_eq!(difference_of_list(&[&[json, "0.5000000001", "7"]]), None);
    assert_eq!(difference_of_list(&[&[json], &["0.5"], &["7"]]), None);
    for row in [
        [json, "0.500000001", "7"],
        [json, "0.5", "8"],
        [json, "null", "7"],
        [r#"{"x": 1}"#, "0.5", "7"],
    ] {
        assert!(difference_of_list(&[&row]).is_some(), "{row:?}");
    }
    assert!(difference_of_list(&[&[json, "0.5"]]).is_some());
    let map = cases.get_mut("map").unwrap();
    map.expected = serde_json::json!({"a": 1, "b": 3.0});
    let difference_of_map = |rows: &[&[&str]]| difference(map, &table(&["k", "v"], rows));
    assert_eq!(difference_of_map(&[&["b", "2.5"], &["a", "1"]]), None);
    // The expected value makes the exception superfluous.
    assert!(difference_of_map(&[&["b", "3.0"], &["a", "1"]]).is_some());
    assert!(difference_of_map(&[&["a", "1"]]).is_some());
    assert!(difference(&cases["nothing"], &table(&[], &[])).is_some());
}

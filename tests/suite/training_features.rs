//! Features of programs in SQL, compared with vectors of upstream and with hand computations.

use std::fs;

use serde_json::Value;
use tsql::arrow::array::{Array as _, AsArray as _, FixedSizeListArray, RecordBatch};
use tsql::arrow::datatypes::{Float32Type, Int32Type};
use tsql::{IngestOptions, Store};

use crate::support::{log, shared};

async fn run_query(store: &Store, sql: &str) -> Result<Vec<RecordBatch>, String> {
    let frame = store.session().await.unwrap().sql(sql).await;
    let frame = frame.map_err(|error| error.to_string())?;
    frame.collect().await.map_err(|error| error.to_string())
}

fn lists(batch: &RecordBatch) -> &FixedSizeListArray {
    batch.column(0).as_fixed_size_list()
}

/// Vectors of real logs from the code of TLP (`golden/tenset/tlp_vectors.json`): the first vector of each file, and a
/// checksum of all vectors.
#[tokio::test]
async fn tokens_match_upstream() {
    let Some(shared) = shared() else {
        return;
    };
    let golden = fs::read(shared.join("golden/tenset/tlp_vectors.json")).unwrap();
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    for (file, expected) in golden.as_object().unwrap() {
        let store = Store::create("memory:").await.unwrap();
        let path = shared.join(file).to_str().unwrap().to_owned();
        let options = IngestOptions::default().platform("p");
        store.ingest(&[path], &options).await.unwrap();
        let kind = expected["platform"].as_str().unwrap();
        let sql = format!(
            "SELECT tlp_tokens(steps, '{kind}') FROM records JOIN configurations USING (config_id) ORDER BY line"
        );
        let rows = run_query(&store, &sql).await.unwrap();
        let count: usize = rows.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(count as u64, expected["ok"].as_u64().unwrap(), "{file}");
        let flat = expected["first"].as_array().unwrap().iter();
        let flat = flat.flat_map(|row| row.as_array().unwrap());
        let flat: Vec<i64> = flat.map(|number| number.as_i64().unwrap()).collect();
        let first = lists(&rows[0]).value(0);
        let first = first.as_primitive::<Int32Type>().values().iter();
        assert!(first.map(|number| i64::from(*number)).eq(flat), "{file}");
        let expected = expected["rolling_checksum"].as_u64().unwrap();
        assert_eq!(rolling_checksum(&rows), expected, "{file}");
    }
}

/// Returns the checksum of the golden file over all vectors of a log: `sum * 1000003 + s` modulo 2^61, where `s` is the
/// sum of each number times its position from 1.
fn rolling_checksum(rows: &[RecordBatch]) -> u64 {
    let each = rows
        .iter()
        .flat_map(|batch| lists(batch).iter().map(Option::unwrap));
    let sums = each.map(|list| {
        let numbers = list.as_primitive::<Int32Type>().values().iter();
        let placed = (1_i64..).zip(numbers);
        placed
            .map(|(place, number)| place * i64::from(*number))
            .sum::<i64>()
            .cast_unsigned()
    });
    sums.fold(0, |sum: u64, value| {
        sum.wrapping_mul(1_000_003).wrapping_add(value) % (1 << 61)
    })
}

#[tokio::test]
async fn schedules_become_lists_of_a_fixed_size() {
    let place = crate::support::Place::new();
    let file = place.write("logs/a/x.json", log(1, 3));
    let store = Store::create("memory:").await.unwrap();
    let files = [file.to_str().unwrap().to_owned()];
    let options = IngestOptions::default().platform("a");
    store.ingest(&files, &options).await.unwrap();
    let sql = "SELECT schedule_numbers(steps), steps FROM configurations ORDER BY config_id";
    let rows = run_query(&store, sql).await.unwrap();
    let lists = lists(&rows[0]);
    assert_eq!(
        (lists.value_length(), lists.len(), lists.null_count()),
        (113, 3, 0)
    );
    let steps = rows[0].column(1).as_string_view();
    for (list, steps) in lists.iter().zip(steps) {
        let steps: Vec<Value> = serde_json::from_str(steps.unwrap()).unwrap();
        let list = list.unwrap();
        let numbers = list.as_primitive::<Float32Type>().values();
        let count = |steps: usize| f32::from(u16::try_from(steps).unwrap());
        let splits = steps.iter().filter(|step| step[0] == "SP").count();
        assert_eq!([numbers[0], numbers[5]], [steps.len(), splits].map(count));
    }
}

#[tokio::test]
async fn invalid_schedules_are_null_and_unknown_targets_an_error() {
    let store = Store::demo().await.unwrap();
    let is_null_for = async |steps: &str| {
        let sql = format!("SELECT schedule_numbers({steps}), tlp_tokens({steps}, 'cuda')");
        let rows = run_query(&store, &sql).await.unwrap();
        let is_null = |column: usize| rows[0].column(column).is_null(0);
        assert_eq!(is_null(0), is_null(1), "{steps}");
        is_null(0)
    };
    for nothing in ["NULL", "'{}'", "'[[\"XX\", 1]]'", "'x'", "''"] {
        assert!(is_null_for(nothing).await, "{nothing}");
    }
    assert!(!is_null_for("'[]'").await);
    let none = "SELECT tlp_tokens(steps, 'cuda') FROM configurations WHERE config_id < 0";
    let frame = store.session().await.unwrap().sql(none).await.unwrap();
    let data_type = frame.schema().field(0).data_type().to_string();
    assert!(data_type.contains("FixedSizeList(800"), "{data_type}");
    assert!(
        frame
            .collect()
            .await
            .unwrap()
            .iter()
            .all(|batch| batch.num_rows() == 0)
    );
    for kind in ["'gpu'", "NULL", "program"] {
        let sql = format!("SELECT tlp_tokens(steps, {kind}) FROM configurations");
        let message = run_query(&store, &sql).await.unwrap_err();
        assert!(message.contains("'llvm' or 'cuda'"), "{message}");
    }
}

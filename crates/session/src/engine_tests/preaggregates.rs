//! Results from pre-aggregates equal those from rows.

mod random;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int16Array, Int32Array, Int64Array, StringArray};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use tsql_schema as schema;
use tsql_store::file::{DataFile, Effort};
use tsql_store::rollup::layout;
use tsql_store::{Change, Snapshot, Store, file};
use tsql_test_support::sorted_lines;

use crate::open_session;

/// Rows of a file: enough that pre-aggregates are written.
const ROWS: i64 = 40_000;

/// Number of graphs in a file.
const GRAPHS: i64 = 10;

/// Queries that need no rows.
const REWRITTEN: [&str; 29] = [
    "SELECT platform, count(*), avg(runtime_ns), sum(CASE WHEN error_no <> 0 THEN 1 ELSE 0 END) FROM records GROUP BY platform",
    "SELECT platform, graph_id, min(runtime_ns), max(runtime_ns) FROM records GROUP BY platform, graph_id",
    "SELECT sum(runtime_ns), count(runtime_ns), avg(runtime_ns) FROM records WHERE error_no = 0",
    "SELECT status, count(*) FROM records GROUP BY status",
    "SELECT platform, avg(CASE WHEN error_no = 4 THEN 1.0 ELSE 0.0 END) AS share FROM records GROUP BY platform",
    "SELECT count(DISTINCT graph_id), count(DISTINCT platform) FROM records WHERE runtime_ns IS NOT NULL",
    "SELECT DISTINCT platform, repeat_count FROM records",
    "SELECT platform, count(*) FILTER (WHERE error_no <> 0), min(runtime_ns) FILTER (WHERE repeat_count = 3) FROM records GROUP BY platform",
    "SELECT avg(runtime_ns) FROM records WHERE platform = 'nowhere'",
    "SELECT count(*), count(runtime_ns) FROM records WHERE graph_id = -1 AND error_no = 0",
    "SELECT g.workload_key, count(*), sum(r.runtime_ns) FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id GROUP BY g.workload_key",
    "SELECT count(*), max(runtime_ns) FROM records WHERE graph_id IN (SELECT graph_id FROM graphs WHERE workload_key LIKE '%3%')",
    "SELECT p, min(t) FROM (SELECT platform AS p, runtime_ns AS t, graph_id FROM records WHERE graph_id < 105) AS r GROUP BY p HAVING min(t) > 1",
    "SELECT sum(repeat_count), min(repeat_count), count(repeat_count) FROM records",
    "SELECT platform, sum(repeat_count) / count(*), max(runtime_ns) / 1e6 FROM records GROUP BY platform ORDER BY platform LIMIT 1",
    "SELECT graph_id % 3 AS bucket, count(*), avg(runtime_ns) FROM records WHERE runtime_ns IS NULL OR error_no = 0 GROUP BY graph_id % 3",
    "SELECT count(*), avg(label) FROM (SELECT min(runtime_ns) OVER (PARTITION BY graph_id) / runtime_ns AS label FROM records WHERE platform = 't4' AND error_no = 0) AS l",
    "SELECT * FROM (SELECT config_id, platform, runtime_ns, max(runtime_ns) OVER (PARTITION BY platform, collection) AS most, count(*) OVER (PARTITION BY platform, collection) FROM records WHERE error_no = 0) AS r WHERE config_id % 5000 = 7",
    "SELECT * FROM (SELECT graph_id, config_id, runtime_ns - avg(runtime_ns) OVER (PARTITION BY graph_id) AS above, sum(runtime_ns) OVER (PARTITION BY platform) AS all_ns FROM records) AS r WHERE graph_id = 103 AND config_id < 900",
    "SELECT * FROM (SELECT config_id, count(*) OVER (PARTITION BY graph_id) AS a, min(runtime_ns) OVER (PARTITION BY platform) AS b, count(runtime_ns) OVER (PARTITION BY repeat_count, platform) AS c FROM records) AS r WHERE config_id % 5000 = 7",
    "SELECT n, m, count(*) FROM (SELECT count(*) OVER (PARTITION BY graph_id) AS n, max(runtime_ns) OVER (PARTITION BY repeat_count) AS m FROM records) AS r GROUP BY n, m",
    "SELECT avg(runtime_ns) FILTER (WHERE (split > 'a') IS NOT FALSE) FROM records WHERE error_no = 0",
    "SELECT platform, avg(runtime_ns) FILTER (WHERE (split > 'a') IS NOT FALSE), count(*) FILTER (WHERE (split > 'a') IS NOT TRUE), sum(runtime_ns) FILTER (WHERE split IS NOT DISTINCT FROM 'a') FROM records GROUP BY platform",
    "SELECT k, sum(c), min(m) FROM (SELECT platform AS k, count(*) AS c, min(runtime_ns) AS m FROM records GROUP BY platform UNION ALL SELECT status, count(runtime_ns), max(runtime_ns) FROM records GROUP BY status) AS u GROUP BY k",
    "SELECT graph_id, max(CASE WHEN platform = 'k80' THEN runtime_ns END), min(CASE platform WHEN 't4' THEN runtime_ns END), avg(CASE WHEN error_no = 0 THEN runtime_ns END) FROM records GROUP BY graph_id",
    "SELECT graph_id, sum(CASE WHEN platform = 'k80' THEN runtime_ns ELSE 0 END), sum(CASE WHEN error_no = 4 THEN runtime_ns ELSE 0.0 END), sum(CASE WHEN repeat_count = 3 THEN 1 WHEN platform = 't4' THEN runtime_ns WHEN platform = 'k80' AND repeat_count = 3 THEN 7 END) FROM records GROUP BY graph_id",
    "SELECT count(CASE WHEN platform = 'k80' THEN runtime_ns WHEN repeat_count = 2 THEN 1.0 END) FILTER (WHERE error_no <> 4), count(CASE WHEN split > 'a' THEN 1.0 WHEN (split > 'a') IS NULL THEN runtime_ns ELSE runtime_ns END) FROM records",
    "SELECT sum(CASE WHEN platform = 'nowhere' THEN runtime_ns END), sum(CASE WHEN platform = 'nowhere' THEN runtime_ns ELSE NULL END), sum(CASE WHEN error_no = 4 THEN runtime_ns ELSE runtime_ns END) FROM records WHERE error_no = 4",
    "SELECT platform, sum(10 / error_no) FILTER (WHERE error_no > 0), count(10 / error_no) FILTER (WHERE error_no > 0) FROM records GROUP BY platform",
];

/// Queries that must read rows.
const NOT_REWRITTEN: [&str; 14] = [
    "SELECT platform, median(runtime_ns) FROM records GROUP BY platform",
    "SELECT platform, avg(runtime_ns * 2) FROM records GROUP BY platform",
    "SELECT platform, avg(CASE WHEN error_no = 0 THEN runtime_ns ELSE 0 END) FROM records GROUP BY platform",
    "SELECT platform, sum(CASE WHEN runtime_ns > 5000 THEN runtime_ns ELSE 0 END) FROM records GROUP BY platform",
    "SELECT platform, count(*), avg(runtime_ns) FROM records WHERE runtime_ns > 5000 GROUP BY platform",
    "SELECT platform, count(DISTINCT runtime_ns) FROM records GROUP BY platform",
    "SELECT platform, max(config_id), sum(runtime_ns) FROM records GROUP BY platform",
    "SELECT a.platform, count(*) FROM records AS a JOIN records AS b ON a.config_id = b.config_id GROUP BY a.platform",
    "SELECT config_id, sum(runtime_ns) OVER (PARTITION BY graph_id ORDER BY line) FROM records",
    "SELECT config_id, min(runtime_ns) OVER (PARTITION BY graph_id) FROM records WHERE runtime_ns > 5000",
    "SELECT platform, count(*) FROM records WHERE random() < 2 AND error_no = 0 GROUP BY platform",
    // A CASE evaluates expressions that may fail for some rows only.
    "SELECT platform, sum(CASE WHEN error_no = 0 THEN 0.0 WHEN 10 / error_no > 2 THEN runtime_ns ELSE 1.0 END) FROM records GROUP BY platform",
    "SELECT sum(CASE WHEN error_no = 0 THEN runtime_ns ELSE 10 / error_no END), count(CASE error_no WHEN 0 THEN runtime_ns WHEN 8 % error_no THEN 1.0 END) FROM records",
    "SELECT count(CASE WHEN platform = 'k80' THEN runtime_ns WHEN CAST(substr(platform, 2) AS INT) = 4 THEN 1.0 END) FROM records",
];

fn records(platform: i64) -> BTreeMap<&'static str, ArrayRef> {
    let rows = 0..ROWS;
    let long = |of: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.clone().map(of)))
    };
    let error_no = |row: i64| if row % 31 == 0 { 4 } else { 0 };
    let runtime = |row: i64| {
        let there = error_no(row) == 0 && row % 57 != 0;
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let value = (row * 7919 % 10_007) as f64 + 0.25 * platform as f64;
        there.then_some(value)
    };
    let repeats = |row: i64| if row % 5 == 0 { 3 } else { 2 };
    BTreeMap::from([
        ("graph_id", long(&|row| 100 + row % GRAPHS)),
        ("config_id", long(&|row| row)),
        ("environment_id", long(&|_| 1)),
        ("source_id", long(&|_| platform)),
        ("line", long(&|row| row + 1)),
        (
            "runtime_ns",
            Arc::new(rows.clone().map(runtime).collect::<Float64Array>()) as ArrayRef,
        ),
        (
            "repeat_count",
            Arc::new(Int32Array::from_iter_values(rows.clone().map(repeats))),
        ),
        (
            "error_no",
            Arc::new(Int16Array::from_iter_values(rows.clone().map(error_no))),
        ),
    ])
}

pub(crate) async fn store() -> Store {
    let store = Store::create("memory:").await.unwrap();
    let graphs = 100..100 + GRAPHS;
    let keys = graphs.clone().map(|graph| format!("key {graph}"));
    let names = graphs.clone().map(|_| "tenset");
    let columns: BTreeMap<&str, ArrayRef> = BTreeMap::from([
        (
            "graph_id",
            Arc::new(Int64Array::from_iter_values(graphs.clone())) as ArrayRef,
        ),
        (
            "dataset",
            Arc::new(StringArray::from_iter_values(names)) as ArrayRef,
        ),
        (
            "workload_key",
            Arc::new(StringArray::from_iter_values(keys)),
        ),
    ]);
    add(&store, "graphs", &[], columns).await;
    for (number, platform) in [(1, "k80"), (2, "t4")] {
        let partition = [("dataset", "tenset"), ("platform", platform)];
        add(&store, "records", &partition, records(number)).await;
    }
    store
}

/// Adds another file of records.
pub(crate) async fn add_records(store: &Store) {
    let partition = [("dataset", "tenset"), ("platform", "k80")];
    add(store, "records", &partition, records(3)).await;
}

pub(crate) async fn add(
    store: &Store,
    table: &str,
    partition: &[(&str, &str)],
    columns: BTreeMap<&str, ArrayRef>,
) {
    let own = schema::table(table).unwrap();
    let written = write(store, own, partition, columns).await;
    commit(store, table, written).await;
}

async fn commit(store: &Store, table: &str, file: DataFile) {
    let change = Change {
        add: vec![file],
        ..Change::default()
    };
    let change = async |_: &Snapshot| Ok(Some(change.clone()));
    store.commit(table, "test", change).await.unwrap();
}

async fn write(
    store: &Store,
    own: &schema::Table,
    partition: &[(&str, &str)],
    columns: BTreeMap<&str, ArrayRef>,
) -> DataFile {
    let partition = partition
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
    let partition: Vec<_> = partition.collect();
    let rows = [file::batch(own, columns).unwrap()];
    let written = file::write(store.location(), own, &partition, &rows, Effort::Ingest);
    written.await.unwrap()
}

pub(crate) async fn result_lines(context: &SessionContext, sql: &str) -> Vec<String> {
    let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
    sorted_lines(&rows)
}

/// Returns whether the plan reads pre-aggregates, which are in memory.
async fn reads_rollups(context: &SessionContext, sql: &str) -> bool {
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    text.contains("DataSourceExec: partitions=")
}

#[tokio::test]
async fn results_are_equal() {
    let store = store().await;
    let (sums, rows) = (
        open_session(&store).await.unwrap(),
        open_session(&store).await.unwrap(),
    );
    rows.sql("SET tsql.rules.preaggregates = false")
        .await
        .unwrap();
    compare(&sums, &rows).await;
    for sql in NOT_REWRITTEN {
        assert!(!reads_rollups(&sums, sql).await, "{sql}");
    }
}

/// Compares the queries in a session with pre-aggregates and one without.
async fn compare(sums: &SessionContext, rows: &SessionContext) {
    for sql in REWRITTEN {
        assert!(reads_rollups(sums, sql).await, "{sql}");
        assert!(!reads_rollups(rows, sql).await, "{sql}");
        assert_eq!(
            result_lines(sums, sql).await,
            result_lines(rows, sql).await,
            "{sql}"
        );
    }
}

#[tokio::test]
async fn distinct_programs_are_counted_in_a_bitmap() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    for (dense, hashed) in [
        (
            "SELECT count(DISTINCT config_id) FROM records",
            "SELECT count(DISTINCT config_id + 0) FROM records",
        ),
        (
            "SELECT platform, graph_id, count(DISTINCT config_id) FILTER (WHERE error_no = 0), avg(runtime_ns) FROM records WHERE runtime_ns > 100 GROUP BY platform, graph_id",
            "SELECT platform, graph_id, count(DISTINCT config_id + 0) FILTER (WHERE error_no = 0), avg(runtime_ns) FROM records WHERE runtime_ns > 100 GROUP BY platform, graph_id",
        ),
        (
            "SELECT error_no, count(DISTINCT line), count(DISTINCT config_id) FROM records GROUP BY error_no",
            "SELECT error_no, count(DISTINCT line + 0), count(DISTINCT config_id + 0) FROM records GROUP BY error_no",
        ),
        (
            "SELECT count(DISTINCT config_id) FROM records WHERE platform = 'nowhere'",
            "SELECT 0",
        ),
        (
            "SELECT count_distinct_dense(config_id) FROM (VALUES (-5), (NULL), (7), (-5), (9223372036854775807)) AS v(config_id)",
            "SELECT 3",
        ),
    ] {
        let plan = context
            .sql(dense)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let plan = displayable(plan.as_ref()).indent(false).to_string();
        assert!(
            plan.contains("count_distinct_dense") || dense.contains("nowhere"),
            "{plan}"
        );
        let values = |lines: Vec<String>| -> Vec<String> {
            let rows = lines
                .into_iter()
                .filter(|line| !line.contains("count") && !line.contains("Int64"));
            rows.map(|line| line.replace('-', "")).collect()
        };
        assert_eq!(
            values(result_lines(&context, dense).await),
            values(result_lines(&context, hashed).await),
            "{dense}"
        );
    }
}

#[tokio::test]
async fn scattered_numbers_are_not_counted_in_a_bitmap() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    for (sql, is_dense) in [
        (
            "SELECT graph_id, count(DISTINCT config_id) FROM records GROUP BY graph_id",
            true,
        ),
        (
            "SELECT count(DISTINCT c) FROM (SELECT config_id AS c FROM records WHERE line > 3) AS r",
            true,
        ),
        (
            "SELECT count(DISTINCT c) FROM (SELECT config_id * 1000003 AS c FROM records) AS r",
            false,
        ),
        (
            "SELECT config_id, count(DISTINCT line) FROM records GROUP BY config_id",
            false,
        ),
    ] {
        let plan = context.sql(sql).await.unwrap();
        let plan = plan.into_optimized_plan().unwrap().to_string();
        assert_eq!(plan.contains("count_distinct_dense"), is_dense, "{plan}");
    }
}

#[tokio::test]
#[ignore = "full tier"]
async fn files_without_sums_are_added_up() {
    let store = store().await;
    // Few rows of each label: such a file stores no pre-aggregates.
    let mut few = records(3);
    few.insert(
        "graph_id",
        Arc::new(Int64Array::from_iter_values(1000..1000 + ROWS)),
    );
    let few = few
        .into_iter()
        .map(|(name, column)| (name, column.slice(0, 5000)));
    let partition = [("dataset", "tenset"), ("platform", "v100")];
    add(&store, "records", &partition, few.collect()).await;
    let snapshot = store.snapshot("records").await.unwrap().unwrap();
    let has_sums = |file: &DataFile| file.rollup.is_some();
    let with = snapshot.files().iter().filter(|file| has_sums(file));
    assert_eq!((with.count(), snapshot.files().len()), (2, 3));
    let (sums, rows) = (
        open_session(&store).await.unwrap(),
        open_session(&store).await.unwrap(),
    );
    rows.sql("SET tsql.rules.preaggregates = false")
        .await
        .unwrap();
    compare(&sums, &rows).await;
}

#[tokio::test]
async fn sums_by_other_labels_are_not_used() {
    let records_table = schema::table("records").unwrap();
    let today = layout(records_table.rollup.as_ref().unwrap());
    let mut other = records_table.clone();
    let rollup = other.rollup.as_mut().unwrap();
    rollup.by.retain(|label| label != "repeat_count");
    rollup.of.push("baseline_ns".to_owned());
    // The file declares another layout, or its tag is wrong.
    for promised in [false, true] {
        let store = store().await;
        let partition = [("dataset", "tenset"), ("platform", "v100")];
        let mut columns = records(3);
        let baseline = Float64Array::from(vec![1.5; usize::try_from(ROWS).unwrap()]);
        columns.insert("baseline_ns", Arc::new(baseline));
        let mut written = write(&store, &other, &partition, columns).await;
        let place = written.rollup.as_mut().unwrap();
        assert_ne!(place.layout, today);
        if promised {
            place.layout = today;
        }
        commit(&store, "records", written).await;
        let (sums, rows) = (
            open_session(&store).await.unwrap(),
            open_session(&store).await.unwrap(),
        );
        rows.sql("SET tsql.rules.preaggregates = false")
            .await
            .unwrap();
        for sql in &REWRITTEN[..5] {
            assert_eq!(
                result_lines(&sums, sql).await,
                result_lines(&rows, sql).await,
                "{sql}"
            );
        }
    }
}

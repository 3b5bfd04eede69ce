//! Results that depend on pruning by the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int16Array, Int32Array, Int64Array, StringArray};
use datafusion::catalog::TableProvider;
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use tsql_dataset::ingest::ingest;
use tsql_dialect::statement::{parse_statements, plan_statement};
use tsql_engine::new_context;
use tsql_schema as schema;
use tsql_store::{At, Store};

use super::preaggregates::{add, result_lines, store};
use crate::SessionOptions;
use crate::{open_session, open_session_with};

/// Rows of each file.
pub(crate) const ROWS: i64 = 3000;

/// Records with either a cost or a split, but not both.
pub(crate) fn records(platform: i64, costs: bool) -> BTreeMap<&'static str, ArrayRef> {
    let long = |of: fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(of)))
    };
    let rows = usize::try_from(ROWS).unwrap();
    let mut columns = BTreeMap::from([
        ("graph_id", long(|row| row % 7)),
        ("config_id", long(|row| row)),
        ("environment_id", long(|_| 1)),
        (
            "source_id",
            Arc::new(Int64Array::from(vec![platform; rows])) as ArrayRef,
        ),
        ("line", long(|row| row + 1)),
        ("measured_at_s", long(|row| row)),
        (
            "runtime_ns",
            Arc::new(Float64Array::from_iter_values((0..3000_i32).map(f64::from))),
        ),
        ("repeat_count", Arc::new(Int32Array::from(vec![1; rows]))),
        ("error_no", Arc::new(Int16Array::from(vec![0; rows]))),
    ]);
    if costs {
        columns.insert("all_cost_digits", long(|row| 100_000 + row));
        columns.insert(
            "all_cost_exponent",
            Arc::new(Int16Array::from(vec![-5; rows])),
        );
    } else {
        let splits = (0..ROWS).map(|row| if row % 2 == 0 { "train" } else { "valid" });
        columns.insert("split", Arc::new(StringArray::from_iter_values(splits)));
    }
    columns
}

/// Files with costs and files with splits.
async fn halves() -> Store {
    let store = Store::create("memory:").await.unwrap();
    for (number, platform) in (0..).zip(["a", "b", "c", "d", "e", "f"]) {
        let partition = [("dataset", "tenset"), ("platform", platform)];
        let columns = records(number, number % 2 == 0);
        add(&store, "records", &partition, columns).await;
    }
    store
}

#[tokio::test]
async fn extremes_of_columns_that_some_files_lack() {
    let store = halves().await;
    // The wrong filter depended on which thread was faster.
    for _ in 0..25 {
        let context = open_session(&store).await.unwrap();
        for (sql, wanted) in [
            (
                "SELECT max(all_cost_s), max(split) FROM records",
                "|1.02999|valid|",
            ),
            (
                "SELECT min(all_cost_s), min(split) FROM records",
                "|1.0|train|",
            ),
            (
                "SELECT max(split), min(all_cost_s), max(line) FROM records",
                "|valid|1.0|3000|",
            ),
        ] {
            let rows = result_lines(&context, sql)
                .await
                .join("\n")
                .replace(' ', "");
            let rows = rows
                .replace("1.029990000e0", "1.02999")
                .replace("1.000000000e0", "1.0");
            assert!(rows.contains(wanted), "{sql}: {rows}");
        }
    }
}

/// Result of a counting query.
async fn count(context: &SessionContext, sql: &str) -> i64 {
    let rows = tsql_dialect::collect(context, sql).await.unwrap();
    let [batch] = rows.as_slice() else {
        panic!("{sql}");
    };
    tsql_schema::column::numbers::<arrow::datatypes::Int64Type>(
        batch,
        batch.schema().field(0).name(),
    )
    .unwrap()
    .value(0)
}

#[tokio::test]
async fn null_among_the_values_of_a_partition_column() {
    let store = halves().await;
    let context = open_session(&store).await.unwrap();
    for (condition, files) in [
        ("platform IN ('a', 'x', 'y', NULL)", 1),
        ("platform IN ('a', 'b', 'x', 'y', 'z', NULL)", 2),
        ("platform IN (NULL, 'a', 'b', 'c')", 3),
        ("platform IN ('a', NULL)", 1),
        ("platform IN (NULL, NULL, NULL, NULL)", 0),
        ("platform NOT IN ('a', 'x', 'y', NULL)", 0),
        ("NOT platform IN ('a', 'x', 'y', NULL)", 0),
        ("platform = NULL", 0),
        ("NULL = platform", 0),
        ("platform IS NOT DISTINCT FROM NULL", 0),
        ("platform IS DISTINCT FROM NULL", 6),
        ("(platform = NULL) IS NULL", 6),
        ("platform IN ('a', 'x', 'y', NULL) IS NULL", 5),
        ("platform IN ('a', 'x', 'y', NULL) OR platform = 'b'", 2),
        (
            "platform IN ('a', 'x', 'y', NULL) AND platform IN ('a', 'b', 'c', 'd', NULL)",
            1,
        ),
        ("platform IN ('a', 'b', 'c', 'd')", 4),
        (
            "dataset IN ('tenset', 'x', 'y', NULL) AND platform = 'a'",
            1,
        ),
    ] {
        for from in [
            "records".to_owned(),
            "records JOIN (SELECT 1 AS one) AS o ON one = one".to_owned(),
            "(SELECT * FROM records UNION ALL SELECT * FROM records WHERE line < 0) AS r"
                .to_owned(),
        ] {
            let sql = format!("SELECT count(*) FROM {from} WHERE {condition}");
            assert_eq!(count(&context, &sql).await, files * ROWS, "{sql}");
        }
        let sql = format!(
            "SELECT CAST(coalesce(median(line), 0) AS BIGINT) FROM records WHERE {condition}"
        );
        let middle = if files == 0 { 0 } else { (ROWS + 1) / 2 };
        assert_eq!(count(&context, &sql).await, middle, "{sql}");
    }
    let value = datafusion::common::ScalarValue::Utf8(None);
    let bound = context
        .sql("SELECT * FROM records WHERE platform = $p")
        .await
        .unwrap();
    let bound = bound.with_param_values(vec![("p", value)]).unwrap();
    assert_eq!(bound.count().await.unwrap(), 0);
}

#[tokio::test]
async fn filters_in_another_order_keep_the_same_rows() {
    let store = store().await;
    let (ours, theirs) = (
        open_session(&store).await.unwrap(),
        open_session(&store).await.unwrap(),
    );
    theirs
        .sql("SET datafusion.execution.parquet.reorder_filters = false")
        .await
        .unwrap();
    for condition in [
        "graph_id = 105 AND runtime_ns > 9000 AND repeat_count = 3",
        "config_id % 1000 = 7 AND error_no = 0 AND graph_id IN (101, 107)",
        "runtime_ns IS NULL AND line > 39000 AND platform = 't4'",
        "error_no <> 0 AND (runtime_ns IS NULL OR line < 100)",
    ] {
        let sql = format!(
            "SELECT platform, line, runtime_ns, error_message FROM records WHERE {condition}"
        );
        let rows = result_lines(&theirs, &sql).await;
        assert!(rows.len() > 4, "{condition}");
        assert_eq!(result_lines(&ours, &sql).await, rows, "{condition}");
    }
}

#[tokio::test]
async fn pages_are_chosen_by_the_time_of_measuring() {
    let context = open_session(&halves().await).await.unwrap();
    let sql = "SELECT count(*) FROM records WHERE measured_at >= '1970-01-01T00:00:05Z' \
        AND measured_at < '1970-01-01T00:00:07.5Z'";
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let shown = displayable(plan.as_ref()).indent(false).to_string();
    for bound in ["measured_at_s_max@0 >= 5", "measured_at_s_min@3 < 8"] {
        assert!(shown.contains(bound), "{shown}");
    }
    assert!(!shown.contains("time_at"), "{shown}");
    assert!(
        result_lines(&context, sql)
            .await
            .iter()
            .any(|line| line == "|18|")
    );
}

#[tokio::test]
async fn settings_that_make_results_wrong_stay_off() {
    let context = new_context(None).unwrap();
    let options = context.state().config_options().optimizer.clone();
    assert!(!options.enable_aggregate_dynamic_filter_pushdown);
    assert!(!options.enable_window_topn);
    let run = async |sql: &str| {
        let statement = parse_statements(sql)?.pop_front().unwrap();
        let rows = plan_statement(&context, statement, sql)
            .await?
            .collect()
            .await;
        rows.map_err(tsql_error::Error::Query)
    };
    for sql in [
        "SET datafusion.execution.collect_statistics = true",
        "SET \"datafusion.execution.collect_statistics\" = true",
        "SET \"datafusion\".\"execution\".collect_statistics = 'true'",
        "SET DATAFUSION.Execution.COLLECT_STATISTICS TO TRUE",
        "SET datafusion.optimizer.enable_window_topn TO true",
        "SET datafusion.optimizer.enable_dynamic_filter_pushdown = true",
        "RESET datafusion.execution.collect_statistics",
        "RESET \"datafusion.execution.collect_statistics\"",
        "RESET datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown",
    ] {
        let refused = run(sql).await.unwrap_err().to_string();
        assert!(refused.contains("cannot be enabled"), "{sql}: {refused}");
    }
    for sql in [
        "SET SESSION datafusion.execution.collect_statistics = true",
        "SET LOCAL datafusion.execution.collect_statistics = true",
        "PREPARE p AS SET datafusion.execution.collect_statistics = true",
        "EXECUTE p",
        "EXPLAIN SET datafusion.execution.collect_statistics = true",
    ] {
        // For SQL and for other text.
        assert!(run(sql).await.is_err(), "{sql}");
    }
    for sql in [
        "SET datafusion.execution.batch_size = 100",
        "SET datafusion.execution.collect_statistics = false",
        "RESET datafusion.execution.batch_size",
        "SELECT 1",
    ] {
        run(sql).await.unwrap();
    }
    // Settings that no statement changes.
    let set = context.sql("SET datafusion.execution.collect_statistics = true");
    set.await.unwrap();
    let refused = run("SELECT 1").await.unwrap_err().to_string();
    assert!(refused.contains("cannot be enabled"), "{refused}");
}

/// Table or view of a session by name.
async fn provider(context: &SessionContext, schema: &str, name: &str) -> Arc<dyn TableProvider> {
    let catalog = context.catalog("tsql").unwrap();
    let found = catalog.schema(schema).unwrap().table(name).await;
    found.unwrap().unwrap()
}

#[tokio::test]
async fn sessions_share_what_is_of_the_same_versions_and_nothing_else() {
    let store = store().await;
    let rows = "SELECT count(*) AS n FROM records";
    let before = open_session(&store).await.unwrap();
    let other = open_session(&store).await.unwrap();
    let same = async |a: &SessionContext, b: &SessionContext, schema: &str, name: &str| {
        let (a, b) = (provider(a, schema, name), provider(b, schema, name));
        Arc::ptr_eq(&a.await, &b.await)
    };
    for (schema, name) in [
        ("stored", "records"),
        ("public", "records"),
        ("public", "nodes"),
    ] {
        assert!(same(&before, &other, schema, name).await, "{schema}.{name}");
    }
    // Tables created in one session do not exist in the other.
    before
        .sql("CREATE OR REPLACE VIEW nodes AS SELECT 1 AS mine")
        .await
        .unwrap();
    assert_eq!(count(&before, "SELECT mine FROM nodes").await, 1);
    assert!(other.sql("SELECT mine FROM nodes").await.is_err());
    let third = open_session(&store).await.unwrap();
    assert!(third.sql("SELECT mine FROM nodes").await.is_err());
    let known = count(&before, rows).await;
    // A commit does not change the existing session; the next session sees it.
    let partition = [("dataset", "tenset"), ("platform", "late")];
    add(&store, "records", &partition, records(9, true)).await;
    let after = open_session_with(&store, &SessionOptions::default().sql(rows))
        .await
        .unwrap();
    assert_eq!(count(&after, rows).await, known + ROWS);
    assert_eq!(count(&before, rows).await, known);
    let all = open_session(&store).await.unwrap();
    assert_eq!(count(&all, rows).await, known + ROWS);
    assert!(same(&after, &all, "public", "records").await);
    assert!(!same(&before, &all, "public", "records").await);
    // A session at an old version does not show the new rows either.
    let version = store.snapshot("records").await.unwrap().unwrap().version();
    let then = At::Versions(BTreeMap::from([("records".to_owned(), version - 1)]));
    let then = open_session(&store.at(&then).await.unwrap()).await.unwrap();
    assert_eq!(count(&then, rows).await, known);
    let all = open_session(&store).await.unwrap();
    assert_eq!(count(&all, rows).await, known + ROWS);
}

/// Cached rows of a running query are not shared between sessions.
#[tokio::test]
async fn no_view_keeps_rows() {
    let context = open_session(&store().await).await.unwrap();
    for view in schema::views().unwrap() {
        let plan = provider(&context, "public", &view.name).await;
        let plan = plan.get_logical_plan().unwrap().to_string();
        assert!(!plan.contains("computed_once"), "{plan}");
    }
}

/// Another process, whose commits are visible only through the disk.
#[tokio::test]
#[ignore = "full tier"]
async fn commits_of_others_show_in_the_next_session() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s");
    let place = place.to_str().unwrap();
    let own = Store::create(place).await.unwrap();
    let rows = "SELECT count(*) AS n FROM records";
    let options = SessionOptions::default().sql(rows);
    for round in 1..=24 {
        let other = Store::open(place).await.unwrap();
        let file = folder.path().join(format!("{round}.jsonl"));
        let line = format!(
            "{{\"workload_key\": \"w\", \"steps\": \"{round}\", \"repeats_ns\": [{round}]}}\n"
        );
        std::fs::write(&file, line).unwrap();
        let inputs = [file.to_str().unwrap().to_owned()];
        let of_k80 = tsql_dataset::ingest::IngestOptions::default().platform("k80");
        ingest(&other, &inputs, &of_k80).await.unwrap();
        let context = open_session_with(&own, &options).await.unwrap();
        assert_eq!(count(&context, rows).await, round);
    }
}

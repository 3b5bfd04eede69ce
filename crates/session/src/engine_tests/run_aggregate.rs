//! Groups of clustered files.

use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use tsql_dataset::demo::create_demo;

use crate::{SessionOptions, open_session_with};

async fn result_text(context: &SessionContext, sql: &str) -> String {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

async fn uses_run_aggregate(context: &SessionContext, sql: &str) -> bool {
    result_text(context, &format!("EXPLAIN {sql}"))
        .await
        .contains("RunAggregateExec")
}

/// Returns a session over the sample store with two threads and batches of one row, so that groups are emitted
/// several times.
async fn context() -> SessionContext {
    let store = create_demo().await.unwrap();
    let options = SessionOptions::default().threads(2);
    let context = open_session_with(&store, &options).await.unwrap();
    context
        .sql("SET datafusion.execution.batch_size = 1")
        .await
        .unwrap();
    context
}

#[tokio::test]
#[ignore = "full tier"]
async fn groups_of_files_are_those_of_a_hash_table() {
    let context = context().await;
    for aggregates in [
        "round(sum(CASE WHEN error_no = 0 THEN 0 ELSE all_cost_s * pi() END), 9), round(avg(all_cost_s * pi()), 9), min(repeat_count), max(error_no), count(error_message), min(baseline_ns), round(avg(baseline_ns), 9)",
        "count(line + 1), sum(repeat_count * 2), min(runtime_ns + 1), max(runtime_ns - 1)",
        "count(all_cost_s), count(*) FILTER (WHERE runtime_ns > 1e5), max(error_no) FILTER (WHERE error_no > 99)",
        "round(avg(ln(runtime_ns)), 9), round(stddev(noise), 9), round(corr(runtime_ns, line), 9), round(stddev_pop(noise), 9), round(var(noise), 9), round(var_pop(noise), 9)",
        "min(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END), max(CASE WHEN line % 3 = 0 THEN 'NaN'::DOUBLE ELSE runtime_ns END)",
        "round(avg(CASE WHEN platform = 'epyc-1t' THEN runtime_ns END), 6), sum(CASE WHEN platform = 'epyc-1t' THEN line END)",
        "median(runtime_ns), quantile_cont(noise, 0.9) FILTER (WHERE line > 2), percentile_cont(0.1) WITHIN GROUP (ORDER BY runtime_ns DESC)",
        "bool_and(error_no = 0), bool_or(line > 3), sum(CAST(line AS DECIMAL(9, 2))), avg(CAST(line AS DECIMAL(9, 2))), min(CAST(line AS VARCHAR)), max(measured_at), sum(length(status))",
    ] {
        for (rows, wheres) in [
            ("records", ""),
            ("records", "WHERE error_no = 0 AND runtime_ns > 1e4"),
            ("records", "WHERE runtime_ns * 0 > 1"),
            (
                "(SELECT *, unnest(repeats_ns) AS t FROM records) AS u",
                "WHERE t > 0",
            ),
        ] {
            for (key, other, order) in [
                ("platform", "concat(platform, '')", "1"),
                ("graph_id", "graph_id + 0 * line", "1"),
                (
                    "graph_id, platform",
                    "graph_id, concat(platform, '')",
                    "1, 2",
                ),
                (
                    "platform, error_no",
                    "concat(platform, ''), error_no",
                    "1, 2",
                ),
                (
                    "platform, config_id, line",
                    "concat(platform, ''), config_id, line",
                    "1, 2, 3",
                ),
                (
                    "line % 5, platform",
                    "line % 5, concat(platform, '')",
                    "1, 2",
                ),
            ] {
                if key != "platform" && !wheres.is_empty() {
                    continue;
                }
                let asked = |key: &str| {
                    format!(
                        "SELECT {key}, {aggregates} FROM {rows} {wheres} GROUP BY {key} ORDER BY {order}"
                    )
                };
                let (by_runs, hashed) = (asked(key), asked(other));
                // Collecting aggregates support only partition columns of files.
                let is_theirs = aggregates.contains("median") && key != "platform";
                assert_ne!(
                    uses_run_aggregate(&context, &by_runs).await,
                    is_theirs,
                    "{by_runs}"
                );
                assert!(!uses_run_aggregate(&context, &hashed).await, "{hashed}");
                // Column names differ.
                let rows = |text: String| -> Vec<String> {
                    text.lines()
                        .skip(3)
                        .map(|line| line.replace([' ', '-'], ""))
                        .collect()
                };
                let found = rows(result_text(&context, &by_runs).await);
                let expected = rows(result_text(&context, &hashed).await);
                assert_eq!(found, expected, "{by_runs}");
            }
        }
    }
}

#[tokio::test]
async fn other_groups_are_hashed() {
    let context = context().await;
    for sql in [
        "SELECT error_message AS platform, count(line) FROM records GROUP BY error_message",
        "SELECT config_id, count(line + 1) FROM records GROUP BY config_id",
        "SELECT graph_id + 1, sum(line) FROM records GROUP BY graph_id + 1",
        "SELECT platform, median(DISTINCT line) FROM records GROUP BY platform",
        "SELECT platform, error_no, median(line) FROM records GROUP BY platform, error_no",
        "SELECT platform, sum(line) FROM (SELECT error_message AS platform, platform AS p, line FROM records) AS r GROUP BY platform",
    ] {
        assert!(!uses_run_aggregate(&context, sql).await, "{sql}");
    }
    let renamed = "SELECT p, sum(line) FROM (SELECT platform AS p, line FROM records WHERE line > 1) AS r GROUP BY p";
    assert!(uses_run_aggregate(&context, renamed).await);
}

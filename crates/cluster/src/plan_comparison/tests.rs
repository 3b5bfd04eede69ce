//! Plans that differ in one property of a node are not accepted as equal.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use tsql_dataset::demo::create_demo;
use tsql_session::{SessionOptions, Workers, open_session_with};

use super::compare;
use crate::windows::WindowCalls;

/// Queries that differ in one property of a node.
const PAIRS: [[&str; 2]; 24] = [
    [
        "SELECT line FROM records WHERE line > 1",
        "SELECT line FROM records WHERE line > 2",
    ],
    [
        "SELECT line + 1 AS n FROM records",
        "SELECT line + 2 AS n FROM records",
    ],
    [
        "SELECT line AS n FROM records",
        "SELECT source_id AS n FROM records",
    ],
    [
        "SELECT line FROM records WHERE noise > 0.1 + line",
        "SELECT line FROM records WHERE noise > 0.2 + line",
    ],
    [
        "SELECT line FROM records ORDER BY line LIMIT 3",
        "SELECT line FROM records ORDER BY line LIMIT 4",
    ],
    [
        "SELECT line FROM records ORDER BY line LIMIT 3",
        "SELECT line FROM records ORDER BY line LIMIT 3 OFFSET 1",
    ],
    [
        "SELECT line FROM records ORDER BY runtime_ns",
        "SELECT line FROM records ORDER BY runtime_ns DESC NULLS LAST",
    ],
    [
        "SELECT line FROM records ORDER BY runtime_ns",
        "SELECT line FROM records ORDER BY runtime_ns NULLS FIRST",
    ],
    [
        "SELECT count(line) FILTER (WHERE line > 1) FROM records",
        "SELECT count(line) FILTER (WHERE line > 2) FROM records",
    ],
    [
        "SELECT count(line), array_agg(line) FROM records",
        "SELECT count(line), array_agg(DISTINCT line) FROM records",
    ],
    [
        "SELECT array_agg(line ORDER BY runtime_ns) FROM records",
        "SELECT array_agg(line ORDER BY all_cost_s) FROM records",
    ],
    [
        "SELECT first_value(runtime_ns) FROM records",
        "SELECT first_value(runtime_ns) IGNORE NULLS FROM records",
    ],
    [
        "SELECT platform, count(*) FROM records GROUP BY ROLLUP (platform, error_no)",
        "SELECT platform, count(*) FROM records GROUP BY CUBE (platform, error_no)",
    ],
    [
        "SELECT sum(line) OVER (PARTITION BY platform ORDER BY line) FROM records",
        "SELECT sum(line) OVER (PARTITION BY dataset ORDER BY line) FROM records",
    ],
    [
        "SELECT sum(line) OVER (ORDER BY line) FROM records",
        "SELECT sum(line) OVER (ORDER BY line DESC) FROM records",
    ],
    [
        "SELECT sum(line) OVER (ORDER BY line ROWS 1 PRECEDING) FROM records",
        "SELECT sum(line) OVER (ORDER BY line ROWS 2 PRECEDING) FROM records",
    ],
    [
        "SELECT lag(line, 1) OVER (ORDER BY line) FROM records",
        "SELECT lag(line, 2) OVER (ORDER BY line) FROM records",
    ],
    [
        "SELECT array_agg(runtime_ns) OVER (ORDER BY line) FROM records",
        "SELECT array_agg(runtime_ns) IGNORE NULLS OVER (ORDER BY line) FROM records",
    ],
    [
        "SELECT sum(line) OVER (ORDER BY line) FROM records",
        "SELECT avg(line) OVER (ORDER BY line) FROM records",
    ],
    [
        "SELECT a.line FROM records a JOIN records b ON a.config_id = b.config_id AND a.line < b.line",
        "SELECT a.line FROM records a JOIN records b ON a.config_id = b.config_id AND a.line <= b.line",
    ],
    [
        "SELECT a.line FROM records a JOIN records b ON a.error_message = b.error_message",
        "SELECT a.line FROM records a JOIN records b ON a.error_message IS NOT DISTINCT FROM b.error_message",
    ],
    [
        "SELECT a.line FROM records a LEFT JOIN graphs b ON a.line < b.graph_id",
        "SELECT a.line FROM records a LEFT JOIN graphs b ON a.line <= b.graph_id",
    ],
    [
        "SELECT unnest(repeats_ns) FROM records",
        "SELECT unnest(cpu_repeats_ns) AS \"unnest(records.repeats_ns)\" FROM records",
    ],
    [
        "SELECT * FROM (VALUES (1, 'a')) AS t(n, k)",
        "SELECT * FROM (VALUES (1, 'b')) AS t(n, k)",
    ],
];

async fn plan_query(context: &SessionContext, sql: &str) -> (Arc<dyn ExecutionPlan>, WindowCalls) {
    let frame = context.sql(sql).await.unwrap();
    let logical = frame.clone().into_optimized_plan().unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    (plan, WindowCalls::from_plan(&logical).unwrap())
}

#[tokio::test]
async fn plans_that_differ_in_one_property_are_distinguished() {
    let store = create_demo().await.unwrap();
    // No worker is running, so plans stay local.
    let options = SessionOptions::default().workers(Workers::parse("127.0.0.1:1").unwrap());
    let context = open_session_with(&store, &options).await.unwrap();
    for [sql, other] in PAIRS {
        let (plan, calls) = plan_query(&context, sql).await;
        let (again, _) = plan_query(&context, sql).await;
        assert_eq!(compare(&plan, &again, &calls), Ok(()), "{sql}");
        let (other, _) = plan_query(&context, other).await;
        assert!(compare(&plan, &other, &calls).is_err(), "{sql}");
    }
}

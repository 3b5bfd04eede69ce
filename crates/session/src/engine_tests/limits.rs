//! Limits above windows, sorts and set operations.

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::prelude::SessionContext;
use tsql_engine::new_context;

use super::preaggregates::store;
use super::rows;
use crate::open_session;

#[tokio::test]
async fn windows_see_all_rows_below_a_limit() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    for (sql, wanted) in [
        (
            "SELECT graph_id, count(*) OVER () FROM records GROUP BY graph_id ORDER BY graph_id LIMIT 1",
            "100|10",
        ),
        (
            "SELECT graph_id, n FROM (SELECT graph_id, count(*) OVER () AS n FROM records) AS t WHERE graph_id > 103 ORDER BY graph_id LIMIT 1 OFFSET 2",
            "104|80000",
        ),
        (
            "SELECT platform, count(*) OVER () FROM records WHERE line < 5 GROUP BY platform ORDER BY platform LIMIT 1",
            "k80|2",
        ),
        (
            "SELECT graph_id, sum(count(*)) OVER (ORDER BY graph_id) FROM records GROUP BY graph_id ORDER BY graph_id DESC LIMIT 1",
            "109|80000",
        ),
    ] {
        assert_eq!(rows(&context, sql).await, [wanted], "{sql}");
    }
}

/// Returns whether the ordered scans of a query preserve their order; `None` without such scans.
async fn keeps_order(context: &SessionContext, sql: &str) -> Option<bool> {
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let mut kept = Vec::new();
    plan.apply(|node| {
        let scan = node.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let scan = scan.filter(|scan| !scan.output_ordering.is_empty());
        kept.extend(scan.map(|scan| scan.preserve_order));
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    kept.into_iter().reduce(|one, other| one && other)
}

#[tokio::test]
async fn limits_choose_no_rows() {
    let store = store().await;
    let stored = open_session(&store).await.unwrap();
    let mut any = false;
    for threads in [1, 2, 3] {
        let set = format!("SET datafusion.execution.target_partitions = {threads}");
        stored.sql(&set).await.unwrap();
        for sql in [
            "SELECT graph_id FROM records ORDER BY graph_id LIMIT 10",
            "SELECT graph_id FROM records WHERE line > 7 ORDER BY graph_id, source_id, line LIMIT 10 OFFSET 5",
            "SELECT graph_id, source_id FROM records LIMIT 3",
        ] {
            let kept = keeps_order(&stored, sql).await;
            assert_ne!(kept, Some(false), "{threads}: {sql}");
            any |= kept.is_some();
        }
    }
    assert!(any);
    let context = new_context(None).unwrap();
    let set = "SET datafusion.execution.target_partitions = 2";
    context.sql(set).await.unwrap();
    let three = "SELECT * FROM (VALUES (0), (1), (2)) AS v(x) ORDER BY x LIMIT 3";
    let nine = format!("SELECT * FROM ({three}) UNION ALL ({three}) UNION ALL ({three})");
    for (sql, wanted) in [
        (
            format!("SELECT DISTINCT x FROM ({nine}) ORDER BY x LIMIT 3"),
            ["0", "1", "2"],
        ),
        (
            format!("SELECT x, count(*) FROM ({nine}) GROUP BY x ORDER BY x LIMIT 3"),
            ["0|3", "1|3", "2|3"],
        ),
        (
            format!("SELECT DISTINCT x, count(*) OVER (PARTITION BY x) FROM ({nine}) LIMIT 3"),
            ["0|3", "1|3", "2|3"],
        ),
    ] {
        let mut found = rows(&context, &sql).await;
        found.sort();
        assert_eq!(found, wanted, "{sql}");
    }
}

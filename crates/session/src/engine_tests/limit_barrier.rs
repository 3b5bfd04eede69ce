//! Limits above windows, at any number of threads.

use std::sync::Arc;

use arrow::compute::concat_batches;
use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;

use super::preaggregates::store;
use super::rows;
use crate::open_session;

/// Queries with a total order of their rows. Their files are sorted by `graph_id`.
const QUERIES: [&str; 16] = [
    "SELECT w.graph_id, w.config_id, w.platform, w.n FROM (SELECT *, count(*) OVER () AS n FROM records) AS w JOIN graphs AS g ON g.graph_id = w.graph_id ORDER BY w.graph_id, w.config_id, w.platform",
    "SELECT w.graph_id, w.config_id, w.platform, w.n FROM (SELECT *, count(*) OVER () AS n FROM records) AS w LEFT JOIN graphs AS g ON g.graph_id = w.graph_id ORDER BY w.graph_id, w.config_id, w.platform",
    "SELECT w.graph_id, w.config_id, w.platform, w.n FROM (SELECT *, row_number() OVER (ORDER BY graph_id, config_id, platform) AS n FROM records) AS w WHERE w.graph_id IN (SELECT graph_id FROM graphs WHERE graph_id > 103) ORDER BY w.graph_id, w.config_id, w.platform",
    "SELECT w.graph_id, w.config_id, w.platform, w.n FROM (SELECT *, count(*) OVER () AS n FROM records) AS w JOIN (SELECT graph_id FROM graphs UNION ALL SELECT graph_id + 5 FROM graphs WHERE graph_id < 102) AS g ON g.graph_id = w.graph_id WHERE w.graph_id < 105 ORDER BY w.graph_id, w.config_id, w.platform",
    "SELECT w.graph_id, w.config_id, w.platform, w.n FROM (SELECT *, count(*) OVER () AS n FROM records) AS w JOIN (SELECT * FROM graphs WHERE graph_id = 107) AS g ON g.graph_id = w.graph_id ORDER BY w.graph_id, w.config_id, w.platform",
    "SELECT w.graph_id, w.n FROM (SELECT graph_id, count(*) OVER () AS n FROM records) AS w JOIN graphs AS g ON g.graph_id = w.graph_id ORDER BY w.graph_id",
    "SELECT w.graph_id, w.n FROM (SELECT graph_id, count(*) OVER () AS n FROM records) AS w, graphs AS g WHERE g.graph_id = 103 ORDER BY w.graph_id",
    "SELECT graph_id, count(*) AS n FROM records GROUP BY graph_id ORDER BY graph_id",
    "SELECT graph_id, max(n) FROM (SELECT graph_id, count(*) OVER () AS n FROM records) AS w GROUP BY graph_id ORDER BY graph_id",
    "SELECT w.graph_id, count(*) FROM records AS w JOIN graphs AS g ON g.graph_id = w.graph_id GROUP BY w.graph_id ORDER BY w.graph_id",
    "SELECT DISTINCT w.graph_id, w.n FROM (SELECT graph_id, count(*) OVER (PARTITION BY platform) AS n FROM records) AS w ORDER BY w.graph_id",
    "SELECT graph_id, n FROM (SELECT graph_id, count(*) OVER () AS n FROM records UNION ALL SELECT graph_id, 7 FROM graphs) AS u ORDER BY graph_id, n",
    "SELECT graph_id, config_id, platform, runtime_ns / sum(runtime_ns) OVER () AS share FROM records WHERE line % 3 = 1 ORDER BY graph_id, config_id, platform",
    "SELECT graph_id, n FROM (SELECT graph_id, config_id, sum(line) OVER (ORDER BY graph_id, config_id, platform ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS n FROM (SELECT graph_id, config_id, platform, count(*) OVER (ORDER BY graph_id, config_id, platform ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING) AS line FROM records) AS i) AS o ORDER BY graph_id, config_id, n",
    "SELECT graph_id, config_id, platform, lead(runtime_ns, 40) IGNORE NULLS OVER (PARTITION BY graph_id ORDER BY config_id, platform) AS n FROM records ORDER BY graph_id, config_id, platform",
    "SELECT graph_id, config_id, platform, lag(config_id, -9) OVER (ORDER BY graph_id, config_id, platform) AS n FROM records ORDER BY graph_id, config_id, platform",
];

/// Returns some rows of a query without a limit, so that no limit can be moved.
async fn some(context: &SessionContext, sql: &str, skip: usize, fetch: usize) -> Vec<String> {
    let frame = context.sql(sql).await.unwrap();
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let all = concat_batches(&schema, &frame.collect().await.unwrap()).unwrap();
    let skip = skip.min(all.num_rows());
    let some = all.slice(skip, fetch.min(all.num_rows() - skip));
    let text = pretty_format_batches(&[some]).unwrap().to_string();
    let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
    let cells = lines.map(|line| line.replace(' ', ""));
    cells
        .map(|line| line[1..line.len() - 1].to_owned())
        .collect()
}

#[tokio::test]
#[ignore = "full tier"]
async fn a_limit_changes_no_row_at_any_number_of_threads() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    for sql in QUERIES {
        let one = "SET datafusion.execution.target_partitions = 1";
        context.sql(one).await.unwrap();
        for (skip, fetch) in [(0, 3), (4, 5)] {
            let wanted = some(&context, sql, skip, fetch).await;
            for threads in [1, 2, 8, 16, 64] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                let limited = format!("{sql} LIMIT {fetch} OFFSET {skip}");
                let found = rows(&context, &limited).await;
                assert_eq!(found, wanted, "{threads}: {limited}");
            }
            context.sql(one).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_limit_that_was_written_below_stays_below() {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    for threads in [1, 2, 16] {
        let set = format!("SET datafusion.execution.target_partitions = {threads}");
        context.sql(&set).await.unwrap();
        let sql = "SELECT graph_id, config_id, count(*) OVER () AS n FROM (SELECT * FROM records ORDER BY graph_id DESC, config_id DESC, platform LIMIT 4) AS r ORDER BY config_id LIMIT 2";
        let found = rows(&context, sql).await;
        assert_eq!(found.len(), 2, "{threads}");
        assert!(
            found
                .iter()
                .all(|row| row.starts_with("109|") && row.ends_with("|4")),
            "{found:?}"
        );
        let sql = "SELECT count(*) FROM (SELECT * FROM records ORDER BY graph_id OFFSET 79990) AS r JOIN (SELECT * FROM graphs ORDER BY graph_id DESC LIMIT 1) AS g ON g.graph_id = r.graph_id";
        assert_eq!(rows(&context, sql).await, ["10"], "{threads}");
    }
}

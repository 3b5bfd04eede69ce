use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::pretty::pretty_format_batches;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::physical_plan::{self, ExecutionPlan, displayable};
use datafusion::prelude::SessionContext;

use crate::context::new_context;
use crate::limits::Limits;
use crate::test_queries::collect;

/// Returns a session with these limits, and a table `t` of three partitions.
fn session(batches: &[RecordBatch], threads: usize, memory: Option<usize>) -> SessionContext {
    let limits = Limits {
        memory_bytes: memory,
        threads: Some(threads),
        ..Limits::default()
    };
    let context = new_context(limits).unwrap();
    let parts = (0..3).map(|part| batches.iter().skip(part).step_by(3).cloned().collect());
    let table = MemTable::try_new(batches[0].schema(), parts.collect()).unwrap();
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

/// Returns a session without the operator.
async fn session_without_rule(batches: &[RecordBatch]) -> SessionContext {
    let context = session(batches, 2, None);
    switch_off(&context).await;
    context
}

async fn switch_off(context: &SessionContext) {
    let off = context.sql("SET tsql.rules.partition_topk = false").await;
    off.unwrap().collect().await.unwrap();
}

async fn plan(context: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    let frame = context.sql(sql).await.unwrap();
    frame.create_physical_plan().await.unwrap()
}

async fn count_stages(context: &SessionContext, sql: &str) -> usize {
    let plan = plan(context, sql).await;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    text.matches("PartitionTopKExec").count()
}

async fn result(context: &SessionContext, sql: &str) -> Vec<String> {
    let rows = collect(context, sql).await.unwrap();
    let text = pretty_format_batches(&rows).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the sum of a metric over all `PartitionTopKExec` of an executed plan.
async fn metric(context: &SessionContext, sql: &str, name: &str) -> usize {
    let plan = plan(context, sql).await;
    let rows = physical_plan::collect(Arc::clone(&plan), context.task_ctx()).await;
    rows.unwrap();
    let mut sum = 0;
    plan.apply(|node| {
        if node.name() == "PartitionTopKExec" {
            let metrics = node.metrics().unwrap();
            sum += match name {
                "output_rows" => metrics.output_rows().unwrap_or_default(),
                _ => metrics
                    .sum_by_name(name)
                    .map_or(0, |value| value.as_usize()),
            };
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    sum
}

/// Rows of many types with NULL, NaN, both zeros and ties, in batches of a few hundred.
async fn rows(count: usize, seed: u64) -> Vec<RecordBatch> {
    let sql = format!(
        "SELECT x, CASE WHEN x % 9 > 0 THEN y % 13 END AS few, x * 7919 % {count} / 3 AS many, y * 92233720368547 AS far,
            CASE y % 6 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN NULL WHEN 2 THEN -0.0 WHEN 3 THEN 0.0 ELSE (y - 50) / 7.0 END AS f,
            CAST(CASE x % 5 WHEN 0 THEN -1e30 WHEN 1 THEN NULL WHEN 2 THEN -0.0 ELSE y / 3.0 END AS FLOAT) AS half,
            CASE WHEN x % 4 > 0 THEN y % 3 = 0 END AS flag,
            CASE WHEN x % 8 > 0 THEN 'text ' || y % 3 END AS word,
            CASE WHEN x % 8 > 0 THEN 'a long beginning ' || (y * 7919 % 1003) END AS words,
            CAST('b' || y AS BYTEA) AS bytes, DATE '2020-01-01' + CAST(y AS INT) AS day,
            CAST(y AS DECIMAL(20, 3)) AS money, arrow_cast('w' || y % 7, 'Dictionary(Int32, Utf8)') AS named, NULL AS nothing,
            make_array(y % 5, x % 3) AS list
         FROM (SELECT x, (x * 7919 + {seed}) * 31 % 101 AS y FROM (SELECT unnest(range(0, {count})) AS x))"
    );
    let batches = collect(&new_context(None).unwrap(), &sql).await.unwrap();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let starts = (0..all.num_rows()).step_by(300);
    let slices = starts.map(|start| all.slice(start, 300.min(all.num_rows() - start)));
    slices.collect()
}

const KEYS: [&str; 15] = [
    "few", "many", "far", "f", "half", "flag", "word", "words", "bytes", "day", "money", "named",
    "nothing", "x", "list",
];

#[tokio::test]
#[ignore = "full tier"]
async fn rows_are_those_of_the_sorted_plan() {
    let seed = 11;
    let batches = rows(4_000, seed).await;
    let sorting = session_without_rule(&batches).await;
    let sessions = [
        session(&batches, 1, None),
        session(&batches, 2, None),
        session(&batches, 8, None),
        session(&batches, 2, Some(64 << 20)),
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    for number in 0..90 {
        let one = |random: &mut fastrand::Rng, of: &[&str]| of[random.usize(..of.len())].to_owned();
        let function = one(&mut random, &["row_number", "rank", "dense_rank"]);
        let mut partition = vec![KEYS[number % KEYS.len()].to_owned()];
        let mut order = Vec::new();
        for _ in 0..random.usize(..2) {
            partition.push(one(&mut random, &KEYS));
        }
        for _ in 0..=random.usize(..2) {
            let key = one(&mut random, &KEYS);
            // Ties of lists are not supported.
            let key = if key != "list" { key } else { "x".to_owned() };
            let direction = one(&mut random, &["ASC", "DESC"]);
            let nulls = one(&mut random, &["NULLS FIRST", "NULLS LAST"]);
            order.push(format!("{key} {direction} {nulls}"));
        }
        if function == "row_number" {
            order.push("x DESC".to_owned());
        }
        let k = 1 + random.usize(..5);
        let condition = one(&mut random, &["<=", "="]);
        let sql = format!(
            "SELECT x, few, word, f, r FROM (SELECT *, {function}() OVER (PARTITION BY {} ORDER BY {} ROWS UNBOUNDED PRECEDING) AS r FROM t) \
             WHERE r {condition} {k}",
            partition.join(", "),
            order.join(", ")
        );
        assert_eq!(count_stages(&sorting, &sql).await, 0, "{sql}");
        let expected = result(&sorting, &sql).await;
        for session in &sessions {
            assert!(count_stages(session, &sql).await > 0, "seed {seed}: {sql}");
            assert_eq!(result(session, &sql).await, expected, "seed {seed}: {sql}");
        }
    }
}

/// Rows with equal sort keys may be any, but their number and their keys are the same as without the operator.
#[tokio::test]
async fn ties_of_row_numbers_are_as_many() {
    let batches = rows(3_000, 5).await;
    let (session, sorting) = (
        session(&batches, 2, None),
        session_without_rule(&batches).await,
    );
    for k in [1, 3] {
        for order in ["ORDER BY f", "ORDER BY word DESC", ""] {
            let value = order.split(' ').nth(2).unwrap_or("1");
            let sql = format!(
                "SELECT few, {value} FROM (SELECT *, row_number() OVER (PARTITION BY few {order}) AS r FROM t) WHERE r <= {k}"
            );
            assert!(count_stages(&session, &sql).await > 0, "{sql}");
            assert_eq!(
                result(&session, &sql).await,
                result(&sorting, &sql).await,
                "{sql}"
            );
        }
    }
}

#[tokio::test]
async fn only_windows_of_ranks_see_fewer_rows() {
    let batches = rows(2_000, 3).await;
    let (session, sorting) = (
        session(&batches, 2, None),
        session_without_rule(&batches).await,
    );
    let over = "OVER (PARTITION BY few ORDER BY f, x)";
    let place = format!("row_number() {over} AS place");
    for (columns, condition, is_used) in [
        (place.clone(), "place <= 3", true),
        (place.clone(), "place < 3", true),
        (place.clone(), "3 >= place", true),
        (place.clone(), "place = 2", true),
        (place.clone(), "place BETWEEN 2 AND 4", true),
        (place.clone(), "place <= 3 AND y > 1", true),
        (place.clone(), "place <= 3 OR y > 1", false),
        (place.clone(), "place <> 3", false),
        (place.clone(), "place > 80", false),
        (place.clone(), "place <= 1001", false),
        (place.clone(), "place <= 0", false),
        (
            format!("{place}, rank() {over} AS other"),
            "place <= 3",
            true,
        ),
        (
            format!("{place}, rank() {over} AS other"),
            "other <= 3",
            true,
        ),
        (
            format!("{place}, lead(x) {over} AS other"),
            "place <= 3",
            false,
        ),
        (
            format!("{place}, count(*) {over} AS other"),
            "place <= 3",
            false,
        ),
        (
            format!("{place}, ntile(3) {over} AS other"),
            "place <= 3",
            false,
        ),
        (
            format!("{place}, count(*) OVER (PARTITION BY word) AS other"),
            "place <= 3 AND other > 2",
            false,
        ),
        (
            "row_number() OVER (ORDER BY f, x) AS place".to_owned(),
            "place <= 3",
            false,
        ),
        (
            "rank() OVER (PARTITION BY few ORDER BY list) AS place".to_owned(),
            "place <= 3",
            false,
        ),
        (
            "percent_rank() OVER (PARTITION BY few ORDER BY f) AS place".to_owned(),
            "place <= 0.1",
            false,
        ),
    ] {
        let sql = format!(
            "SELECT * FROM (SELECT x, few, word, f, x % 7 AS y, {columns} FROM t) WHERE {condition}"
        );
        let used = count_stages(&session, &sql).await > 0;
        // A window over other windows may be on either side.
        if !columns.contains("PARTITION BY word") {
            assert_eq!(used, is_used, "{columns} {condition}");
        }
        assert_eq!(
            result(&session, &sql).await,
            result(&sorting, &sql).await,
            "{sql}"
        );
    }
    let qualified =
        "SELECT x, few FROM t QUALIFY row_number() OVER (PARTITION BY few ORDER BY f, x) = 1";
    assert!(count_stages(&session, qualified).await > 0);
    assert_eq!(
        result(&session, qualified).await,
        result(&sorting, qualified).await
    );
}

/// Sorted input is not buffered.
#[tokio::test]
async fn sorted_rows_stream_through_their_window() {
    let context = session(&rows(1_000, 2).await, 1, None);
    let sql = "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY few ORDER BY x) AS r FROM (SELECT few, x FROM t ORDER BY few, x LIMIT 900)) WHERE r <= 2";
    assert_eq!(count_stages(&context, sql).await, 0);
}

/// 600,000 rows of 200,000 partitions: the partial stage drops nothing among the first rows and gives up. With a small
/// memory limit, both stages give up and the sort spills.
#[tokio::test]
#[ignore = "full tier"]
async fn the_operator_gives_up_where_it_does_not_help() {
    let sql = |k: usize| {
        format!(
            "SELECT count(*), sum(x), sum(r), sum(p) FROM (SELECT x, p, row_number() OVER (PARTITION BY p ORDER BY y, x) AS r \
             FROM (SELECT value AS x, value % 200000 AS p, value * 7919 % 1000003 AS y, 'a text of some length ' || value AS t FROM generate_series(1, 600000))) \
             WHERE r <= {k}"
        )
    };
    let limits = |memory_bytes| Limits {
        memory_bytes,
        threads: Some(2),
        ..Limits::default()
    };
    let sorting = new_context(limits(None)).unwrap();
    switch_off(&sorting).await;
    let large = new_context(limits(None)).unwrap();
    let small = new_context(limits(Some(64 << 20))).unwrap();
    for k in [1, 2] {
        let expected = result(&sorting, &sql(k)).await;
        assert_eq!(result(&large, &sql(k)).await, expected);
        assert_eq!(result(&small, &sql(k)).await, expected);
    }
    let held = metric(&large, &sql(1), "output_rows").await;
    assert!(held < 1_000_000, "{held}");
    let gave_up = metric(&large, &sql(1), "gave_up").await;
    assert!(gave_up > 0);
    assert!(metric(&small, &sql(1), "gave_up").await >= gave_up);
}

/// Ten partitions of 600,000 rows leave few rows to sort.
#[tokio::test]
async fn few_partitions_leave_few_rows() {
    let context = new_context(Limits {
        threads: Some(2),
        ..Limits::default()
    })
    .unwrap();
    for (function, k) in [
        ("row_number", 1),
        ("rank", 1),
        ("row_number", 5),
        ("dense_rank", 2),
    ] {
        let sql = format!(
            "SELECT * FROM (SELECT x, p, {function}() OVER (PARTITION BY p ORDER BY y) AS r \
             FROM (SELECT value AS x, value % 10 AS p, value * 7919 % 1000003 AS y FROM generate_series(1, 600000))) WHERE r <= {k}"
        );
        let text = plan(&context, &sql).await;
        let text = displayable(text.as_ref()).indent(false).to_string();
        let (sort, top_k) = (text.find("FullSortExec"), text.find("PartitionTopKExec"));
        assert!(sort.is_some() && sort < top_k, "{text}");
        let left = metric(&context, &sql, "output_rows").await;
        assert!(left <= 3 * 10 * k, "{function} {left}");
        assert_eq!(metric(&context, &sql, "gave_up").await, 0);
    }
}

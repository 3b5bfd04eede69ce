use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::pretty::pretty_format_batches;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::physical_plan;
use datafusion::prelude::{SessionConfig, SessionContext, col};

use crate::context::new_context;
use crate::test_queries::collect;

/// Returns the rows in their order, and the plan.
async fn rows_and_plan(context: &SessionContext, sql: &str) -> (String, String) {
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let plan = physical_plan::displayable(plan.as_ref())
        .indent(false)
        .to_string();
    let rows = collect(context, sql).await.unwrap();
    (pretty_format_batches(&rows).unwrap().to_string(), plan)
}

/// Returns the number of spill files of the sort.
async fn spill_files(context: &SessionContext, sql: &str) -> usize {
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let rows = physical_plan::collect(Arc::clone(&plan), context.task_ctx()).await;
    rows.unwrap();
    let mut files = 0;
    plan.apply(|node| {
        if node.name() == "FullSortExec" {
            files += node.metrics().unwrap().spill_count().unwrap();
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    files
}

/// Values of many types: NULL, NaN, both zeros, close numbers, strings with a common prefix.
async fn values(rows: usize) -> RecordBatch {
    let sql = format!(
        "SELECT x, CASE WHEN x % 9 > 0 THEN y END AS few, CASE WHEN x % 97 > 0 THEN y * 92233720368547 END AS far,
            9223372036854775807 - x * (x % 2) * 2 AS edge, CAST(y AS TINYINT UNSIGNED) AS small,
            CAST(x * 7919 % 1000003 AS BIGINT UNSIGNED) * 18446744073709 AS big,
            CASE x % 6 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN NULL WHEN 2 THEN -0.0 WHEN 3 THEN 0.0 ELSE (y - 50) / 7.0 END AS f,
            CAST(CASE x % 5 WHEN 0 THEN -1e30 WHEN 1 THEN NULL ELSE y / 3.0 END AS FLOAT) AS half,
            CASE WHEN x % 4 > 0 THEN y % 3 = 0 END AS flag,
            CASE WHEN x % 8 > 0 THEN 'text ' || y % 3 END AS word,
            CASE WHEN x % 8 > 0 THEN 'a long beginning ' || (x * 7919 % 1000003) END AS words,
            CASE x % 3 WHEN 0 THEN '' WHEN 1 THEN chr(CAST(1 + x % 5500 AS BIGINT)) ELSE 'é' || x % 6000 || 'é' END AS odd,
            CAST('b' || x % 7000 AS BYTEA) AS bytes,
            CAST(DATE '2020-01-01' + CAST(y AS INT) AS DATE) AS day, to_timestamp(x * 7919 % 1000003 - 500000) AS at,
            CAST(y AS DECIMAL(20, 3)) AS money, arrow_cast('w' || y, 'Dictionary(Int32, Utf8)') AS named, NULL AS nothing
         FROM (SELECT x, x * 7919 % 101 AS y FROM (SELECT unnest(range(0, {rows})) AS x))"
    );
    let batches = collect(&new_context(None).unwrap(), &sql).await.unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

const KEYS: [&str; 17] = [
    "few", "far", "edge", "small", "big", "f", "half", "flag", "word", "words", "odd", "bytes",
    "day", "at", "money", "named", "nothing",
];

#[tokio::test]
#[ignore = "full tier"]
async fn the_order_is_that_of_the_engine() {
    let batch = values(6_000).await;
    let own = new_context(None).unwrap();
    let plain = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    for context in [&own, &plain] {
        context.register_batch("t", batch.clone()).unwrap();
    }
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        usize::try_from(random >> 33).unwrap() % below
    };
    for question in 0..68 {
        let mut by = Vec::new();
        for _ in 0..=next(4) {
            let key = KEYS[if by.is_empty() {
                question % KEYS.len()
            } else {
                next(KEYS.len())
            }];
            let direction = ["ASC", "DESC"][next(2)];
            let nulls = ["NULLS FIRST", "NULLS LAST"][next(2)];
            by.push(format!("{key} {direction} {nulls}"));
        }
        let sql = format!("SELECT x FROM t ORDER BY {}, x", by.join(", "));
        let (rows, plan) = rows_and_plan(&own, &sql).await;
        assert!(plan.contains("FullSortExec"), "{plan}");
        // Our sort takes both zeros as one key.
        let sql = sql.replace(" f ", " f + 0.0 ");
        assert_eq!(rows, rows_and_plan(&plain, &sql).await.0, "{sql}");
    }
    // Few rows, no rows, and lists, which are not supported.
    for rows in [0, 1, 2] {
        let sql = format!("SELECT * FROM t WHERE x < {rows} ORDER BY words, f DESC");
        assert_eq!(
            rows_and_plan(&own, &sql).await.0,
            rows_and_plan(&plain, &sql).await.0
        );
    }
    let lists = "SELECT x FROM t ORDER BY make_array(few, x)".to_owned();
    let (rows, plan) = rows_and_plan(&own, &lists).await;
    assert!(!plan.contains("FullSortExec"), "{plan}");
    assert_eq!(rows, rows_and_plan(&plain, &lists).await.0);
}

/// Each batch retains only its own string data: operators concatenate batches, and count their memory.
#[tokio::test]
async fn batches_do_not_hold_the_texts_of_others() {
    let context = new_context(None).unwrap();
    let batch = values(6_000).await;
    context.register_batch("t", batch).unwrap();
    let small = "SET datafusion.execution.batch_size = 64";
    context.sql(small).await.unwrap();
    let sql = "SELECT arrow_cast(words, 'Utf8View') AS words FROM t ORDER BY words DESC";
    let batches = collect(&context, sql).await.unwrap();
    assert!(batches.len() > 90);
    let bytes = batches.iter().map(RecordBatch::get_array_memory_size);
    let bytes: usize = bytes.sum();
    assert!(bytes < 6_000 * 100, "{bytes}");
}

/// Output of two threads is merged. Input that is sorted by the first key is sorted portion by portion.
#[tokio::test]
#[ignore = "full tier"]
async fn windows_get_their_rows_in_order() {
    let batch = values(80_000).await;
    let own = new_context(None).unwrap();
    let plain = SessionContext::new();
    for context in [&own, &plain] {
        context.register_batch("t", batch.clone()).unwrap();
    }
    let sql = |key: &str| {
        format!(
            "SELECT x, lag(x) OVER (PARTITION BY {key} ORDER BY f DESC NULLS LAST, x) AS before,
                sum(small) OVER (PARTITION BY {key} ORDER BY words NULLS FIRST, x) AS so_far FROM t ORDER BY x"
        )
    };
    // One portion per value, many values per portion, one value for all rows.
    for (key, is_sorted) in [
        ("word", true),
        ("big % 40000", true),
        ("few", true),
        ("edge > 0", true),
    ] {
        let (rows, plan) = rows_and_plan(&own, &sql(key)).await;
        assert_eq!(plan.contains("sorted=["), is_sorted, "{plan}");
        // DataFusion takes -0.0 and 0.0 as two keys, and NaN of both signs too.
        let one_of_each =
            "CASE WHEN f = 0 THEN 0.0 WHEN isnan(f) THEN CAST('NaN' AS DOUBLE) ELSE f END";
        let theirs = sql(key).replace("ORDER BY f ", &format!("ORDER BY {one_of_each} "));
        assert_eq!(rows, rows_and_plan(&plain, &theirs).await.0, "{key}");
    }
}

/// Rows that do not fit in memory are spilled, also after earlier portions.
#[tokio::test]
#[ignore = "full tier"]
async fn what_does_not_fit_goes_to_files() {
    let small = new_context(Some(32 << 20)).unwrap();
    let own = new_context(None).unwrap();
    let schema = Schema::new(vec![
        Field::new("x", DataType::Int64, false),
        Field::new("part", DataType::Int64, false),
        Field::new("word", DataType::Utf8, false),
    ]);
    let schema = Arc::new(schema);
    let batches = (0..80_i64).map(|batch| {
        let x = batch * 5_000..(batch + 1) * 5_000;
        let part = x.clone().map(|x| (x / 100).min(1_000));
        let word = x
            .clone()
            .map(|x| format!("a text of some length that is {}", x * 7919 % 1000));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(x.clone())),
            Arc::new(Int64Array::from_iter_values(part)),
            Arc::new(StringArray::from_iter_values(word)),
        ];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    });
    let batches: Vec<RecordBatch> = batches.collect();
    for context in [&small, &own] {
        let table = MemTable::try_new(Arc::clone(&schema), vec![batches.clone()]).unwrap();
        let table = table.with_sort_order(vec![vec![col("part").sort(true, false)]]);
        context.register_table("t", Arc::new(table)).unwrap();
        let one_thread = "SET datafusion.execution.target_partitions = 1";
        context.sql(one_thread).await.unwrap();
    }
    for by in ["part", "part % 7"] {
        let sql = format!(
            "SELECT count(*), sum(place * (x % 1009)), max(word)
             FROM (SELECT *, row_number() OVER (PARTITION BY {by} ORDER BY word, x DESC) AS place FROM t)"
        );
        let (rows, plan) = rows_and_plan(&small, &sql).await;
        assert!(plan.contains("FullSortExec"), "{plan}");
        assert_eq!(plan.contains("sorted=["), by == "part", "{plan}");
        assert_eq!(rows, rows_and_plan(&own, &sql).await.0, "{sql}");
        assert!(spill_files(&small, &sql).await > 1, "{sql}");
        assert_eq!(spill_files(&own, &sql).await, 0, "{sql}");
    }
}

/// A limit with a large offset sorts all rows; a heap of that size is much slower.
#[tokio::test]
#[ignore = "full tier"]
async fn large_offsets_are_sorted() {
    let batch = values(60_000).await;
    let own = new_context(None).unwrap();
    let small = new_context(Some(48 << 20)).unwrap();
    let plain = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    for context in [&own, &small, &plain] {
        context.register_batch("t", batch.clone()).unwrap();
    }
    for (limit, is_sorted) in [
        ("LIMIT 5 OFFSET 40000", true),
        ("LIMIT 20000", true),
        ("LIMIT 5 OFFSET 59998", true),
        ("LIMIT 5 OFFSET 70000", true),
        ("LIMIT 5 OFFSET 10000", false),
        ("LIMIT 5", false),
    ] {
        for order in ["f DESC NULLS LAST, x", "words, x", "big, x DESC"] {
            let sql = format!("SELECT x, word, f FROM t ORDER BY {order} {limit}");
            // Our sort takes both zeros as one key.
            let of_zeros = sql.replace("BY f ", "BY f + 0.0 ");
            let expected = rows_and_plan(&plain, &of_zeros).await.0;
            for context in [&own, &small] {
                let (rows, plan) = rows_and_plan(context, &sql).await;
                assert_eq!(plan.contains("FullSortExec"), is_sorted, "{plan}");
                assert_eq!(rows, expected, "{sql}");
            }
        }
    }
}

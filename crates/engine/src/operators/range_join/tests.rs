use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;

use crate::context::new_context;
use crate::limits::Limits;
use crate::test_queries::collect;

const TABLES: [&str; 2] = [
    "CREATE TABLE a AS SELECT value AS x, CASE value % 6 WHEN 0 THEN NULL WHEN 1 THEN -0.0 WHEN 2 THEN CAST('NaN' AS DOUBLE) ELSE value * 7919 % 101 / 4.0 END AS f, \
     'w' || value % 13 AS w, value % 5 AS k, nullif(value * 31 % 90, 7) AS lo, value * 31 % 90 + value % 11 AS hi FROM generate_series(1, 300) AS s(value)",
    "CREATE TABLE b AS SELECT value AS y, CASE value % 7 WHEN 0 THEN NULL WHEN 1 THEN 0.0 WHEN 2 THEN CAST('NaN' AS DOUBLE) ELSE value * 4567 % 103 / 4.0 END AS g, \
     'w' || value % 17 AS v, value % 3 AS j, nullif(value * 17 % 100, 5) AS p FROM generate_series(1, 250) AS s(value)",
];

async fn session(threads: usize, memory_bytes: Option<usize>) -> SessionContext {
    let limits = Limits {
        threads: Some(threads),
        memory_bytes,
        ..Limits::default()
    };
    let context = new_context(limits).unwrap();
    for table in TABLES {
        collect(&context, table).await.unwrap();
    }
    let small = "SET datafusion.execution.batch_size = 64";
    collect(&context, small).await.unwrap();
    context
}

async fn rows(context: &SessionContext, sql: &str) -> Vec<String> {
    let rows = collect(context, sql).await.unwrap();
    let text = pretty_format_batches(&rows).unwrap().to_string();
    // An empty result may have no batch, and so no column names.
    let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

async fn is_used(context: &SessionContext, sql: &str) -> bool {
    let plan = rows(context, &format!("EXPLAIN {sql}")).await;
    plan.iter().any(|line| line.contains("RangeJoinExec"))
}

#[tokio::test]
#[ignore = "full tier"]
async fn rows_are_those_of_nested_loops() {
    let nested = session(2, None).await;
    collect(&nested, "SET tsql.rules.range_join = false")
        .await
        .unwrap();
    let sessions = [
        session(1, None).await,
        session(2, None).await,
        session(8, Some(64 << 20)).await,
    ];
    for condition in [
        "a.lo <= b.p AND b.p < a.hi",
        "b.p BETWEEN a.lo AND a.hi",
        "a.f < b.g",
        "a.f >= b.g AND a.x > b.y",
        "a.w <= b.v AND a.x + 3 > b.y * 2 AND (a.k = 1 OR b.j = 2)",
        "a.x < b.y AND a.lo < b.p AND a.hi > b.p AND a.k + b.j > 2",
        "a.x > b.y + 1000",
        "a.x - 1000 < b.y",
    ] {
        for select in [
            "SELECT a.x, a.f, b.y, b.v FROM a JOIN b ON",
            "SELECT a.x, b.* FROM a LEFT JOIN b ON",
            "SELECT b.y, a.* FROM a RIGHT JOIN b ON",
            "SELECT * FROM a FULL JOIN b ON",
            "SELECT count(*) FROM a FULL JOIN b ON",
            "SELECT x, w FROM a WHERE EXISTS (SELECT 1 FROM b WHERE",
            "SELECT x, w FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE",
            "SELECT y FROM b WHERE EXISTS (SELECT 1 FROM a WHERE",
            "SELECT y FROM b WHERE NOT EXISTS (SELECT 1 FROM a WHERE",
        ] {
            let end = if select.contains('(') && select.ends_with("WHERE") {
                ")"
            } else {
                ""
            };
            let sql = format!("{select} {condition}{end}");
            assert!(!is_used(&nested, &sql).await, "{sql}");
            let expected = rows(&nested, &sql).await;
            for session in &sessions {
                assert!(is_used(session, &sql).await, "{sql}");
                assert_eq!(rows(session, &sql).await, expected, "{sql}");
            }
        }
    }
}

#[tokio::test]
async fn other_joins_stay_as_they_are() {
    let context = session(2, None).await;
    for sql in [
        "SELECT count(*) FROM a JOIN b ON a.x + b.y > 3",
        "SELECT count(*) FROM a JOIN b ON a.x <> b.y",
        "SELECT count(*) FROM a JOIN b ON a.x < b.y OR a.x > b.p",
        "SELECT count(*) FROM a, b",
    ] {
        assert!(!is_used(&context, sql).await, "{sql}");
        rows(&context, sql).await;
    }
    // Joins with an empty side.
    for kind in ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"] {
        let sql = format!(
            "SELECT count(*), count(a.x), count(c.y) FROM a {kind} (SELECT * FROM b WHERE random() > 2) c ON a.x < c.y"
        );
        let found = rows(&context, &sql).await;
        let expected = if kind == "JOIN" || kind == "RIGHT JOIN" {
            "| 0 "
        } else {
            "| 300 "
        };
        assert!(
            found.iter().any(|line| line.starts_with(expected)),
            "{sql}: {found:?}"
        );
    }
}

/// A limit below the operator is the one of the query.
#[tokio::test]
async fn a_limit_of_one_side_stays_with_it() {
    let context = session(2, None).await;
    let sql = "SELECT count(*) FROM a LEFT JOIN (SELECT y FROM (SELECT y FROM b UNION ALL SELECT y FROM b) AS u ORDER BY y LIMIT 3) AS r ON r.y > a.x";
    assert!(is_used(&context, sql).await);
    assert_eq!(rows(&context, sql).await, ["| 300      |"]);
}

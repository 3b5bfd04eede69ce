use arrow::array::AsArray as _;
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_engine::new_context;

const FUNCTIONS: [&str; 19] = [
    "sum(x)",
    "avg(x)",
    "var(x)",
    "var_pop(x)",
    "variance(x)",
    "stddev(x)",
    "stddev_samp(x)",
    "stddev_pop(x)",
    "covar_samp(y, x)",
    "covar_pop(y, x)",
    "corr(y, x)",
    "regr_slope(y, x)",
    "regr_intercept(y, x)",
    "regr_r2(y, x)",
    "regr_avgx(y, x)",
    "regr_avgy(y, x)",
    "regr_sxx(y, x)",
    "regr_syy(y, x)",
    "regr_sxy(y, x)",
];

/// Rows `i` of a table, with numbers of different magnitudes, infinities, NaN and NULL.
async fn context() -> SessionContext {
    let context = new_context(None).unwrap();
    let rows = "CREATE TABLE t AS SELECT i, i % 3 AS p,
            CASE WHEN i % 7 = 3 THEN NULL WHEN i = 20 THEN 1e150 WHEN i = 60 THEN CAST('inf' AS DOUBLE)
                WHEN i = 90 THEN CAST('NaN' AS DOUBLE) ELSE i * 37 % 11 / 4.0 END AS x,
            CASE WHEN i % 5 > 0 THEN i * i % 17 - 3.5 END AS y
            FROM (SELECT unnest(range(0, 120)) AS i)";
    collect(&context, rows).await.unwrap();
    context
}

/// Recomputes each frame by a join with its rows, without subtraction.
#[tokio::test]
async fn frames_are_what_their_rows_are() {
    let context = context().await;
    for (frame, rows) in [
        (
            "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
            "b.i BETWEEN a.i - 3 AND a.i",
        ),
        (
            "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
            "b.i BETWEEN a.i - 2 AND a.i - 1",
        ),
        (
            "ROWS BETWEEN 2 FOLLOWING AND 5 FOLLOWING",
            "b.i BETWEEN a.i + 2 AND a.i + 5",
        ),
        (
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            "b.i >= a.i",
        ),
        (
            "RANGE BETWEEN 4 PRECEDING AND 3 FOLLOWING",
            "b.i BETWEEN a.i - 4 AND a.i + 3",
        ),
        (
            "GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
            "b.i BETWEEN a.i - 1 AND a.i + 2",
        ),
    ] {
        for filter in ["", " FILTER (WHERE i % 4 <> 1)"] {
            let windows = FUNCTIONS.iter().enumerate().map(|(place, function)| {
                format!("{function}{filter} OVER (ORDER BY i {frame}) AS f{place}")
            });
            let windows = windows.collect::<Vec<_>>().join(", ");
            let joined = FUNCTIONS.iter().enumerate().map(|(place, function)| {
                let of_row = function.replace("x)", "b.x)").replace("(y", "(b.y");
                let filter = filter.replace("i %", "b.i %");
                format!("{of_row}{filter} AS f{place}")
            });
            let joined = joined.collect::<Vec<_>>().join(", ");
            let windows = format!("SELECT i, {windows} FROM t ORDER BY i");
            let joined = format!(
                "SELECT a.i, {joined} FROM t AS a LEFT JOIN t AS b ON {rows} GROUP BY a.i ORDER BY a.i"
            );
            let [found, wanted] = [
                collect(&context, &windows).await.unwrap(),
                collect(&context, &joined).await.unwrap(),
            ]
            .map(|batches| arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap());
            assert_eq!(
                found.column(0).as_primitive::<Int64Type>(),
                wanted.column(0).as_primitive::<Int64Type>()
            );
            for (place, function) in FUNCTIONS.iter().enumerate() {
                let [found, wanted] = [&found, &wanted]
                    .map(|batch| batch.column(place + 1).as_primitive::<Float64Type>());
                for (row, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                    assert!(
                        is_near(found, wanted),
                        "{found:?}, not {wanted:?}: {function}{filter} of row {row}, {frame}"
                    );
                }
            }
        }
    }
}

/// Treats infinity and NaN as equal: the result depends on the order in which the mean of an infinity is computed.
fn is_near(found: Option<f64>, wanted: Option<f64>) -> bool {
    match (found, wanted) {
        (Some(found), Some(wanted)) if wanted.is_finite() => {
            (found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3)
        }
        (Some(found), Some(_)) => !found.is_finite(),
        (None, None) => true,
        // A correlation with NaN on one side is NULL.
        (found, wanted) => !found.or(wanted).is_some_and(f64::is_finite),
    }
}

/// Expected values are from DuckDB.
#[tokio::test]
async fn nothing_is_left_of_rows_that_a_frame_has_left() {
    let context = new_context(None).unwrap();
    let rows = "(VALUES (1, 1e300), (2, 1.0), (3, 2.0), (4, CAST('inf' AS DOUBLE)), (5, 3.0), (6, 0.1), (7, 0.2), (8, NULL), (9, NULL), (10, 0.0)) AS t(i, x)";
    for (function, wanted) in [
        (
            "sum(x)",
            "1e300 1e300 3.0 inf inf 3.1 0.30000000000000004 0.2 NULL 0.0",
        ),
        (
            "avg(x)",
            "1e300 5e299 1.5 inf inf 1.55 0.15000000000000002 0.2 NULL 0.0",
        ),
        (
            "sum(CAST(x AS REAL)) FILTER (WHERE i <> 1)",
            "NULL 1.0 3.0 inf inf 3.100000001490116 0.30000000447034836 0.20000000298023224 NULL 0.0",
        ),
    ] {
        for beside in [
            "",
            ", ntile(2) OVER (ORDER BY i)",
            ", lag(x, 2) OVER (ORDER BY i)",
        ] {
            for frame in [
                "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
                "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
            ] {
                let sql = format!(
                    "SELECT coalesce(CAST({function} OVER (ORDER BY i {frame}) AS VARCHAR), 'NULL') AS s{beside} FROM {rows} ORDER BY i"
                );
                let rows = collect(&context, &sql).await.unwrap();
                let text = pretty_format_batches(&rows).unwrap().to_string();
                let lines = text.lines().skip(3).filter(|line| line.starts_with('|'));
                let cells = lines.map(|line| line.split('|').nth(1).unwrap_or_default().trim());
                assert_eq!(cells.collect::<Vec<_>>().join(" "), wanted, "{sql}");
            }
        }
    }
}

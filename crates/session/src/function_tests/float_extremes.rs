use arrow::util::pretty::pretty_format_batches;
use tsql_dialect::collect;
use tsql_engine::new_context;

/// Expected values are from DuckDB.
#[tokio::test]
async fn nan_is_the_greatest_float_whatever_the_order_of_rows() {
    let context = new_context(None).unwrap();
    for kind in ["DOUBLE", "FLOAT"] {
        for rows in [
            "(1, 'NaN'), (1, '3'), (1, '-inf'), (2, 'NaN'), (3, '-inf'), (4, NULL)",
            "(4, NULL), (3, '-inf'), (2, 'NaN'), (1, '3'), (1, '-inf'), (1, 'NaN')",
            "(1, '-inf'), (1, 'NaN'), (2, 'NaN'), (1, '3'), (4, NULL), (3, '-inf')",
        ] {
            let sql = format!(
                "SELECT k, min(x)::VARCHAR AS a, max(x)::VARCHAR AS b FROM (SELECT k, x::{kind} AS x FROM (VALUES {rows}) AS t(k, x)) GROUP BY k ORDER BY k"
            );
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            let text = text.replace(' ', "");
            for row in ["|1|-inf|NaN|", "|2|NaN|NaN|", "|3|-inf|-inf|", "|4|||"] {
                assert!(text.contains(row), "{row} of {sql}:\n{text}");
            }
        }
    }
}

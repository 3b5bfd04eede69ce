use tsql_dataset::demo::create_demo;

use crate::open_session;

#[tokio::test]
async fn parts_follow_from_keys_alone() {
    let context = open_session(&create_demo().await.unwrap()).await.unwrap();
    let sql = "SELECT concat_ws(' ', count(*) FILTER (WHERE part = 'train'), count(*) FILTER (WHERE part = 'valid'), \
               count(*) FILTER (WHERE part = 'test'), count(*) FILTER (WHERE part IS NULL), \
               string_agg(substr(part, 1, 2), ' ' ORDER BY value) FILTER (WHERE value < 34)) AS told \
               FROM (SELECT value, part_of_split(7, 'task', CASE WHEN value % 10 > 0 THEN CAST(value AS text) END, '80/10/10') \
               AS part FROM generate_series(0, 9999))";
    let rows = tsql_dialect::collect(&context, sql).await.unwrap();
    let told = arrow::util::pretty::pretty_format_batches(&rows)
        .unwrap()
        .to_string();
    // Expected values are from Python's xxhash.
    let expected = "7190 920 890 1000 tr tr tr tr tr te tr te tr tr tr tr tr tr tr tr tr va va va tr tr tr tr tr tr tr tr tr tr";
    assert!(told.contains(expected), "{told}");
    let wrong =
        tsql_dialect::collect(&context, "SELECT part_of_split(1, 'task', 'x', '80/20')").await;
    let told = wrong.unwrap_err().to_string();
    assert!(told.contains("hint: three whole numbers"), "{told}");
}

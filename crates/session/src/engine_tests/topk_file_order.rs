//! Order of files for top-k queries.

use datafusion::physical_plan::displayable;

use super::preaggregates::{add_records, result_lines, store};
use crate::{SessionOptions, open_session_with};

#[tokio::test]
async fn files_with_the_best_rows_come_first() {
    let store = store().await;
    add_records(&store).await;
    let options = SessionOptions::default().threads(1);
    let context = open_session_with(&store, &options).await.unwrap();
    let files = async |order: &str| {
        let sql = format!(
            "SELECT line, r FROM (SELECT line, error_no, runtime_ns AS r FROM records) WHERE error_no = 0 ORDER BY r {order} LIMIT 3"
        );
        let plan = context.sql(&sql).await.unwrap();
        let plan = plan.create_physical_plan().await.unwrap();
        let plan = displayable(plan.as_ref()).indent(true).to_string();
        let (_, files) = plan.split_once("[[").unwrap();
        let (files, _) = files.split_once("]]").unwrap();
        let mut files: Vec<_> = files.split(", ").map(str::to_owned).collect();
        // The first file is split into parts.
        assert_eq!(files[0], files[1], "{plan}");
        files.dedup();
        files
    };
    let (worst, best) = (files("DESC").await, files("ASC").await);
    assert!(worst.len() > 2, "{worst:?}");
    assert_ne!(worst, best);
    let (mut one, mut other) = (worst.clone(), best.clone());
    one.sort();
    other.sort();
    assert_eq!(one, other);
    for (order, rows) in [("DESC", "error_no = 0"), ("ASC", "line % 3 = 1")] {
        let sql = format!("SELECT runtime_ns FROM records WHERE {rows} ORDER BY 1 {order} LIMIT 7");
        let all = format!(
            "SELECT runtime_ns FROM (SELECT runtime_ns, row_number() OVER (ORDER BY runtime_ns {order} NULLS LAST, line) AS n FROM records WHERE {rows}) WHERE n <= 7"
        );
        assert_eq!(
            result_lines(&context, &sql).await,
            result_lines(&context, &all).await,
            "{sql}"
        );
    }
}

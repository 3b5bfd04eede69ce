//! Columns that are kept give the rows that files do.

use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt as _;
use object_store::ObjectStoreExt as _;

use crate::query::SessionOptions;
use crate::query::collect;
use crate::query::sums::tests::{answer, more, store};
use crate::store::Store;

async fn is_above_a_scan(context: &SessionContext, sql: &str) -> bool {
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let plan = displayable(plan.as_ref()).indent(false).to_string();
    plan.contains("KeptColumnsExec")
}

/// Takes the files of records away.
async fn lose_records(store: &Store) {
    let objects = store.location().objects();
    let files = objects.list(Some(&"records".into()));
    let files: Vec<_> = files.try_collect().await.unwrap();
    let files = files.into_iter().map(|file| file.location);
    for file in files.filter(|file| file.as_ref().ends_with(".parquet")) {
        objects.delete(&file).await.unwrap();
    }
}

#[tokio::test]
async fn columns_are_kept_from_the_second_question_on() {
    let store = store().await;
    let context = store.session().await.unwrap();
    let sum = "SELECT platform, sum(runtime_ns * 2) FROM records GROUP BY platform";
    let product = "SELECT count(*) FROM records WHERE runtime_ns * error_no > 5";
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(answer(&context, sum).await);
    }
    answer(&context, product).await;
    lose_records(&store).await;
    // Another session of the same store knows them as well.
    answers.push(answer(&context, sum).await);
    let context = store.session().await.unwrap();
    answers.push(answer(&context, sum).await);
    assert!(answers[0].len() > 5, "{answers:?}");
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    // Of these, one was asked for once.
    let lost = collect(&context, product).await.unwrap_err().to_string();
    assert!(lost.contains("records"), "{lost}");
}

#[tokio::test]
async fn what_conditions_leave_is_kept_where_that_is_much() {
    let store = store().await;
    let context = store.session().await.unwrap();
    let sql = "SELECT platform, sum(line % 7) FROM records WHERE line >= 100 GROUP BY platform";
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(answer(&context, sql).await);
    }
    lose_records(&store).await;
    answers.push(answer(&context, sql).await);
    assert!(answers[0].len() > 5, "{answers:?}");
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let other = sql.replace("line >= 100", "line >= 101");
    let other = answer(&context, &other).await;
    assert_ne!(other, answers[0], "what is kept answers others");
}

#[tokio::test]
async fn questions_see_what_was_added_after_others() {
    let store = store().await;
    let sum = "SELECT platform, sum(runtime_ns * 2), count(*) FROM records GROUP BY platform";
    for _ in 0..3 {
        answer(&store.session().await.unwrap(), sum).await;
    }
    let before = store.session().await.unwrap();
    more(&store).await;
    let after = store.session().await.unwrap();
    let options = SessionOptions::default().memory_limit_bytes(1 << 30);
    let unkept = store.session_with(&options).await.unwrap();
    assert!(!is_above_a_scan(&unkept, sum).await);
    assert_eq!(answer(&after, sum).await, answer(&unkept, sum).await);
    assert_ne!(answer(&after, sum).await, answer(&before, sum).await);
}

/// Asks each question of a session that keeps columns, four times, and of one that does not.
async fn same_as_scans(store: Store, threads: usize, questions: &[&str]) {
    let kept = store.session().await.unwrap();
    let options = SessionOptions::default().memory_limit_bytes(1 << 30);
    let unkept = store.session_with(&options).await.unwrap();
    let set = format!("SET datafusion.execution.target_partitions = {threads}");
    kept.sql(&set).await.unwrap();
    unkept.sql(&set).await.unwrap();
    for sql in questions {
        let wanted = answer(&unkept, sql).await;
        assert!(is_above_a_scan(&kept, sql).await, "{sql}");
        for time in 1..=4 {
            assert_eq!(answer(&kept, sql).await, wanted, "{time}: {sql}");
        }
    }
}

#[tokio::test]
async fn answers_are_those_of_scans() {
    let questions = [
        "SELECT platform, sum(runtime_ns + 1), count(runtime_ns + 1), min(error_no + 0), max(line % 7) FROM records GROUP BY platform",
        "SELECT graph_id, sum(config_id % 7) FROM records GROUP BY graph_id",
        "SELECT platform, runtime_ns, line FROM records ORDER BY runtime_ns DESC NULLS LAST, line LIMIT 30 OFFSET 3",
        "SELECT platform, runtime_ns FROM records WHERE runtime_ns > 10005 OR error_no * repeat_count > 11",
        "SELECT count(*), sum(line) FROM records WHERE runtime_ns IS NULL AND platform <> 't4'",
        "SELECT runtime_ns FROM records ORDER BY runtime_ns LIMIT 7",
        "SELECT runtime_ns FROM records ORDER BY runtime_ns DESC NULLS FIRST LIMIT 7",
        "SELECT graph_id, line FROM records ORDER BY graph_id, line LIMIT 7 OFFSET 9",
        "SELECT platform || 'x', runtime_ns / 2 FROM records WHERE runtime_ns BETWEEN 100 AND 101",
        "SELECT sum(r) FROM (SELECT runtime_ns AS r FROM records WHERE error_no = 4 LIMIT 5)",
        "SELECT count(*) FROM records WHERE runtime_ns = 100.1",
        "SELECT graph_id, median(runtime_ns) FROM records WHERE graph_id IN (101, 107) GROUP BY graph_id",
        "SELECT a.platform, count(*) FROM records AS a JOIN records AS b ON a.runtime_ns = b.runtime_ns AND a.error_no = b.error_no WHERE a.line < 500 GROUP BY a.platform",
        "SELECT platform, avg(runtime_ns * 3) FROM records WHERE line < 300 OR line BETWEEN 20000 AND 20010 GROUP BY platform",
        "SELECT platform, count(*), sum(runtime_ns * 3) FROM records WHERE status = 'ok' AND random() < 2 GROUP BY platform",
        "SELECT platform, runtime_ns FROM records WHERE dataset = 'nothing' OR runtime_ns = 3.25",
        "SELECT a, a * 2, b FROM (SELECT runtime_ns * 3 AS a, platform || 'y' AS b, line FROM records WHERE line % 2 = 1) WHERE a > 300",
    ];
    same_as_scans(store().await, 3, &questions).await;
}

#[tokio::test]
async fn what_is_computed_from_what_is_packed_is_kept() {
    let questions = [
        "SELECT platform, avg(min_ns / runtime_ns), max(noise), count(*) FROM records WHERE error_no = 0 GROUP BY platform",
        "SELECT platform, min_ns, noise, all_cost_s, all_cost_s + runtime_ns FROM records WHERE min_ns > 100 AND error_no = 0",
        "SELECT graph_id, sum(CASE WHEN platform = 't4' THEN all_cost_s ELSE 0 END), sum(CASE WHEN error_no = 0 THEN 0 ELSE all_cost_s END) FROM records GROUP BY graph_id",
        "SELECT platform, sum(min_ns + line) FROM records GROUP BY platform",
        "SELECT platform, min_ns, line FROM records ORDER BY min_ns DESC, line LIMIT 5",
        "SELECT platform, min_ns * 2 AS twice, line FROM records WHERE min_ns > 3 AND line % 2 = 0 ORDER BY twice, line LIMIT 5 OFFSET 2",
        "SELECT platform, avg(repeats_ns[1]), max(repeats_ns[2]), sum(array_max(repeats_ns) - array_min(repeats_ns)) FROM (SELECT platform, repeats_ns[1] AS a, repeats_ns FROM records) GROUP BY platform",
    ];
    same_as_scans(Store::demo().await.unwrap(), 2, &questions).await;
}

//! In-process workers that are queried through their ports.

use std::time::Duration;

use datafusion::physical_plan::collect;
use datafusion::prelude::SessionContext;
use tsql_cluster::Workers;
use tsql_dataset::demo::create_demo;
use tsql_dialect::collect as asked;
use tsql_session::{SessionOptions, built_in_queries};
use tsql_session::{open_session, open_session_with};
use tsql_test_support::sorted_lines;

use super::plan_harness::{PlanHarness, QUERIES, mutate_plan};
use super::*;

/// Queries that each need something else of the stages.
const QUESTIONS: [&str; 25] = [
    "SELECT platform, count(*), sum(runtime_ns), median(runtime_ns) FROM records GROUP BY platform",
    "SELECT * FROM records",
    "SELECT DISTINCT graph_id FROM configurations",
    "SELECT count(DISTINCT config_id), count(DISTINCT platform) FROM records",
    "SELECT count(*) FROM (SELECT * FROM records LIMIT 5)",
    "SELECT source_id, line FROM records ORDER BY runtime_ns DESC, source_id, line LIMIT 3",
    "SELECT r.platform, g.dataset, e.target, count(*) FROM records r JOIN configurations c USING (config_id)
     JOIN graphs g ON g.graph_id = c.graph_id JOIN environments e ON e.environment_id = r.environment_id GROUP BY 1, 2, 3",
    "SELECT g.graph_id, count(c.config_id) FROM graphs g LEFT JOIN configurations c USING (graph_id) GROUP BY 1",
    "SELECT count(*), count(a.graph_id), count(b.graph_id) FROM graphs a FULL JOIN configurations b ON a.graph_id = b.config_id",
    "SELECT count(*) FROM graphs a FULL JOIN graphs b ON a.graph_id < b.graph_id",
    "SELECT count(*) FROM graphs a LEFT JOIN graphs b ON a.graph_id < b.graph_id",
    "SELECT count(*) FROM graphs a CROSS JOIN records b",
    "SELECT count(*) FROM configurations WHERE config_id NOT IN (SELECT config_id FROM records WHERE error_no = 0)",
    "SELECT count(*) FROM graphs g WHERE NOT EXISTS (SELECT 1 FROM configurations c WHERE c.graph_id = g.graph_id)",
    "SELECT config_id FROM records EXCEPT SELECT config_id FROM records WHERE error_no <> 0",
    "SELECT 'a' AS k, count(*) FROM records UNION ALL SELECT 'b', count(*) FROM configurations UNION ALL SELECT 'c', 7",
    "SELECT platform, runtime_ns FROM records UNION ALL SELECT 'graph', graph_id FROM graphs UNION ALL SELECT 'one', 1",
    "SELECT platform, error_no, count(*) FROM records GROUP BY ROLLUP (platform, error_no)",
    "SELECT count(*) FROM records r WHERE runtime_ns < (SELECT avg(runtime_ns) FROM records q WHERE q.platform = r.platform)",
    "SELECT source_id, line, sum(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line) FROM records",
    "SELECT source_id, line, row_number() OVER (ORDER BY source_id, line) FROM records",
    "SELECT platform, avg(x) FROM (SELECT platform, unnest(repeats_ns) AS x FROM records) GROUP BY 1",
    // File order that is preserved through joins.
    "SELECT s.name, g.workload_key, r.line, min(r.runtime_ns) OVER (PARTITION BY r.source_id, r.graph_id ORDER BY r.line)
     FROM records r JOIN graphs g ON g.graph_id = r.graph_id JOIN files s ON s.source_id = r.source_id",
    "SELECT g.graph_id, count(*), min(r.line) FROM graphs g JOIN records r ON g.graph_id = r.graph_id GROUP BY 1",
    "SELECT r.graph_id, r.source_id, count(*) FROM (SELECT * FROM records WHERE platform = (SELECT max(platform) FROM records)) r
     JOIN files s ON s.source_id = r.source_id JOIN graphs g ON g.graph_id = r.graph_id GROUP BY 1, 2",
];

/// Starts workers for a store; returns their list.
async fn workers(store: &Store, count: usize) -> Workers {
    let mut list = Vec::new();
    for _ in 0..count {
        let options = WorkerOptions::default().listen("127.0.0.1:0");
        let worker = Worker::start(vec![store.clone()], options).await.unwrap();
        list.push(worker.address().to_string());
        tokio::spawn(worker.serve(std::future::pending()));
    }
    Workers::parse(&list.join(",")).unwrap().least_rows(1)
}

async fn session(store: &Store, workers: &Workers) -> SessionContext {
    let options = SessionOptions::default().workers(workers.clone());
    open_session_with(store, &options).await.unwrap()
}

/// Returns the decision about the last query.
fn decisions(context: &SessionContext) -> String {
    let decisions = tsql_cluster::decisions(context).into_iter();
    let texts: Vec<String> = decisions.map(|decision| decision.text).collect();
    texts.join("; ")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn workers_have_the_results_of_one_machine() {
    let store = create_demo().await.unwrap();
    let alone = open_session(&store).await.unwrap();
    let mut sent = 0;
    for count in [1, 3] {
        let workers = workers(&store, count).await;
        let context = session(&store, &workers).await;
        for (sql, partitions) in QUESTIONS.iter().flat_map(|sql| [(sql, 1), (sql, 3)]) {
            let set = format!("SET datafusion.execution.target_partitions = {partitions}");
            asked(&context, &set).await.unwrap();
            decisions(&context);
            let wanted = asked(&alone, sql).await.unwrap();
            let found = asked(&context, sql).await.unwrap();
            let decided = decisions(&context);
            assert_eq!(
                sorted_lines(&found),
                sorted_lines(&wanted),
                "{count}: {sql}: {decided}"
            );
            sent += usize::from(decided.starts_with("sent"));
        }
    }
    // Some queries have a single stage, or a node that no worker runs.
    assert!(sent > QUESTIONS.len(), "{sent} were sent");
}

/// Window functions with properties that serialized plans do not carry, and the same functions without them.
const HIDDEN: [[&str; 2]; 9] = [
    [
        "count(*) FILTER (WHERE error_no = 0) OVER (PARTITION BY platform ORDER BY source_id, line)",
        "count(*) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "sum(runtime_ns) FILTER (WHERE line > 5) OVER (PARTITION BY platform ORDER BY source_id, line ROWS 3 PRECEDING)",
        "sum(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line ROWS 3 PRECEDING)",
    ],
    [
        "max(line) FILTER (WHERE runtime_ns > 1e6) OVER (PARTITION BY platform ORDER BY source_id, line)",
        "max(line) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "array_agg(line) FILTER (WHERE error_no = 0) OVER (PARTITION BY platform ORDER BY source_id, line)",
        "array_agg(line) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "lag(runtime_ns) IGNORE NULLS OVER (PARTITION BY platform ORDER BY source_id, line)",
        "lag(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "lead(runtime_ns, 2) IGNORE NULLS OVER (PARTITION BY platform ORDER BY source_id, line)",
        "lead(runtime_ns, 2) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "first_value(runtime_ns) IGNORE NULLS OVER (PARTITION BY platform ORDER BY source_id, line)",
        "first_value(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "last_value(runtime_ns) IGNORE NULLS OVER (PARTITION BY platform ORDER BY source_id, line)",
        "last_value(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
    [
        "nth_value(runtime_ns, 3) IGNORE NULLS OVER (PARTITION BY platform ORDER BY source_id, line)",
        "nth_value(runtime_ns, 3) OVER (PARTITION BY platform ORDER BY source_id, line)",
    ],
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn window_functions_that_bytes_do_not_carry_run_here() {
    let store = create_demo().await.unwrap();
    let alone = open_session(&store).await.unwrap();
    let context = session(&store, &workers(&store, 2).await).await;
    for [hidden, plain] in HIDDEN {
        let property = if hidden.contains("FILTER") {
            "FILTER"
        } else {
            "IGNORE NULLS"
        };
        // The filter of an aggregate that ignores NULL is moved into its argument.
        let is_moved = ["count(", "max(", "sum("]
            .iter()
            .any(|name| hidden.starts_with(name));
        let decision = match is_moved {
            true => "sent to 2 workers".to_owned(),
            false => format!("its serialized form does not contain the {property}"),
        };
        for (function, decision) in [(hidden, decision), (plain, "sent to 2 workers".to_owned())] {
            for sql in [
                format!("SELECT source_id, line, {function} AS w FROM records"),
                format!("SELECT source_id, line, {plain} AS v, {function} AS w FROM records"),
                // In a subquery; counts of rows are never NULL, so `count(w)` would need no window.
                format!(
                    "SELECT platform, count(DISTINCT w) FROM (SELECT platform, {function} AS w FROM records) GROUP BY 1"
                ),
            ] {
                let wanted = asked(&alone, &sql).await.unwrap();
                let found = asked(&context, &sql).await.unwrap();
                let decided = decisions(&context);
                assert_eq!(
                    sorted_lines(&found),
                    sorted_lines(&wanted),
                    "{sql}: {decided}"
                );
                assert!(decided.contains(&decision), "{sql}: {decided}");
            }
        }
    }
    // Aggregates replace a window without an order; their filters are serialized.
    let sql = "SELECT source_id, line, count(*) FILTER (WHERE error_no = 0) OVER (PARTITION BY platform) AS w FROM records";
    let wanted = asked(&alone, sql).await.unwrap();
    let found = asked(&context, sql).await.unwrap();
    assert_eq!(sorted_lines(&found), sorted_lines(&wanted));
}

/// A window over rows in the opposite order is reversed, which serialized plans do not carry either.
#[tokio::test(flavor = "multi_thread")]
async fn reversed_windows_have_the_results_of_one_machine() {
    let store = create_demo().await.unwrap();
    let alone = open_session(&store).await.unwrap();
    let context = session(&store, &workers(&store, 2).await).await;
    for function in [
        "lag(line)",
        "lead(line, 2)",
        "first_value(line)",
        "nth_value(line, 2)",
        "array_agg(line)",
    ] {
        let sql = format!(
            "SELECT graph_id, source_id, line, {function} OVER (PARTITION BY graph_id ORDER BY source_id DESC, line DESC) AS w, \
             row_number() OVER (PARTITION BY graph_id ORDER BY source_id, line) AS n FROM records"
        );
        let wanted = asked(&alone, &sql).await.unwrap();
        let found = asked(&context, &sql).await.unwrap();
        assert_eq!(
            sorted_lines(&found),
            sorted_lines(&wanted),
            "{sql}: {}",
            decisions(&context)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn built_in_queries_have_the_same_results() {
    let store = create_demo().await.unwrap();
    let alone = open_session(&store).await.unwrap();
    let context = session(&store, &workers(&store, 2).await).await;
    let mut answered = 0;
    for question in built_in_queries() {
        let ask = async |context: &SessionContext| {
            let frame = question.run(context, &[]).await?;
            frame.collect().await.map_err(Error::Query)
        };
        let Ok(wanted) = ask(&alone).await else {
            continue;
        };
        let found = ask(&context).await.unwrap();
        assert_eq!(
            sorted_lines(&found),
            sorted_lines(&wanted),
            "{}",
            question.name
        );
        answered += 1;
    }
    assert!(answered > 10, "{answered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_there_or_not_right_is_left_out() {
    let (store, other) = (create_demo().await.unwrap(), create_demo().await.unwrap());
    let count = "SELECT count(*), sum(line) FROM records WHERE line > 0";
    let wanted = sorted_lines(
        &asked(&open_session(&store).await.unwrap(), count)
            .await
            .unwrap(),
    );
    // A port that was free just before.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = listener.local_addr().unwrap().to_string();
    drop(listener);
    let dead = Workers::parse(&dead).unwrap().least_rows(1);
    for (workers, reason) in [
        (dead, "Connection refused"),
        (workers(&other, 1).await, "does not serve this store"),
    ] {
        let context = session(&store, &workers).await;
        assert_eq!(sorted_lines(&asked(&context, count).await.unwrap()), wanted);
        let decided = decisions(&context);
        assert!(
            decided.contains(reason) && decided.contains("ran here"),
            "{decided}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_wanted_of_strangers() {
    let store = create_demo().await.unwrap();
    let everywhere = WorkerOptions::default().listen("0.0.0.0:0");
    let refused = Worker::start(vec![store.clone()], everywhere.clone()).await;
    assert!(refused.unwrap_err().to_string().contains("TSQL_TOKEN"));
    let token = |text| Security::none().token(text).unwrap();
    let options = everywhere.security(token("right"));
    let worker = Worker::start(vec![store.clone()], options).await.unwrap();
    let address = format!("127.0.0.1:{}", worker.address().port());
    tokio::spawn(worker.serve(std::future::pending()));
    let workers = Workers::parse(&address).unwrap().least_rows(1);
    let count = "SELECT count(*), sum(line) FROM records WHERE line > 0";
    for (security, decided) in [
        (Security::none(), "ran here: no worker can be used: http://"),
        (token("wrong"), " rejects the token"),
        (token("right"), "sent to 1 worker:"),
    ] {
        let context = session(&store, &workers.clone().security(security)).await;
        asked(&context, count).await.unwrap();
        let told = decisions(&context);
        assert!(told.contains(decided), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_a_query_with_an_error() {
    let store = create_demo().await.unwrap();
    let options = WorkerOptions::default()
        .listen("127.0.0.1:0")
        .deadline(Duration::ZERO);
    let worker = Worker::start(vec![store.clone()], options).await.unwrap();
    let workers = Workers::parse(&worker.address().to_string()).unwrap();
    tokio::spawn(worker.serve(std::future::pending()));
    let context = session(&store, &workers.least_rows(1)).await;
    let failed = asked(&context, "SELECT sum(line) FROM records WHERE line > 0").await;
    let told = failed.unwrap_err().to_string();
    assert!(told.contains("deadline"), "{told}");
}

/// Inputs of libFuzzer: a query and changes of its plan.
fn plan_corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/plan");
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

/// Plans with mutated bytes are rejected, or still read files of the pinned version.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn changed_plans_are_rejected_or_read_served_tables() {
    let store = create_demo().await.unwrap();
    let tried = Arc::new(PlanHarness::new(&store).await.unwrap());
    let mut plans = Vec::new();
    for sql in QUERIES {
        plans.push(tried.encode_query(sql).await.unwrap());
    }
    let (read, task) = tried.decode_plan(&plans[0]).await.unwrap();
    assert!(collect(read, task).await.is_err(), "its query is over");
    let mut random = fastrand::Rng::with_seed(11);
    let random_changes = (0..2000).map(|_| {
        let mut changes = vec![0; 1 + 4 * random.usize(1..4)];
        random.fill(&mut changes);
        changes
    });
    let (mut refused, mut read) = (0, 0);
    for input in plan_corpus().into_iter().chain(random_changes) {
        let Some(changed) = mutate_plan(&plans, &input) else {
            continue;
        };
        let asked = Arc::clone(&tried);
        // Decoding may panic, as the gate expects.
        match tokio::spawn(async move { asked.decode_plan(&changed).await }).await {
            Err(_) | Ok(Err(_)) => refused += 1,
            Ok(Ok((plan, _))) => {
                assert_eq!(tried.unserved_file(&plan), None);
                read += 1;
            }
        }
    }
    assert!(refused > 100 && read > 10, "{refused} {read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_over_local_files_are_rejected() {
    let store = create_demo().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.parquet");
    // Sessions of tsql make no such plans; a foreign client can.
    let alone = SessionContext::new().enable_url_table();
    let copy = |file: &std::path::Path| {
        let file = file.display();
        format!("COPY (SELECT 1 AS a) TO '{file}' STORED AS PARQUET")
    };
    asked(&alone, &copy(&file)).await.unwrap();
    let tried = PlanHarness::new(&store).await.unwrap();
    let other = folder.path().join("x.parquet");
    let mut written = 0;
    for sql in [format!("SELECT * FROM '{}'", file.display()), copy(&other)] {
        let plan = alone.sql(&sql).await.unwrap().create_physical_plan().await;
        let Ok(bytes) = tried.encode_plan(plan.unwrap()) else {
            continue;
        };
        written += 1;
        let refused = tried.decode_plan(&bytes).await.unwrap_err().to_string();
        assert!(
            refused.contains("rejected") || refused.contains("outside of the store"),
            "{refused}"
        );
    }
    assert!(written > 0 && !other.exists());
}

//! Splits: parts depend only on keys, leaks between parts, and rejected requests.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tsql::splits::{LeakLevel, SplitOptions, SplitUnit};
use tsql::{IngestOptions, SessionOptions, Store};

use crate::support::{Place, log, shared, wanted};

/// Parts of the tasks `["mm0", 64, 64]` to `["mm11", 64, 64]` on llvm and of the DAGs `mm0` to `mm11`, with seed 7
/// and ratio 2/1/1, computed with xxhash of Python.
const TASKS: &str = "train train train valid train train train train train test test valid";
const DAGS: &str = "train train train train train test train valid valid train test train";

/// Returns three lines of a task.
fn task_lines(name: &str, first: u32) -> String {
    log(first, 3).replace("[\\\"mm\\\", 64, 64]", name)
}

fn task(number: usize) -> String {
    format!("[\\\"mm{number}\\\", 64, 64]")
}

/// Returns twelve tasks, each in a file.
fn twelve_tasks() -> (Place, Vec<String>) {
    let place = Place::new();
    let files = (0..12).map(|number| {
        let path = place.write(&format!("p/{number}.json"), task_lines(&task(number), 1));
        path.to_str().unwrap().to_owned()
    });
    let files = files.collect();
    (place, files)
}

async fn text_rows(store: &Store, sql: &str) -> Vec<String> {
    let options = SessionOptions::default().sql(sql);
    let context = store.session_with(&options).await.unwrap();
    let frame = tsql::query::run_sql(&context, sql, &[]).await.unwrap();
    let batches = frame.collect().await.unwrap();
    let mut rows = Vec::new();
    for batch in &batches {
        let column =
            tsql::arrow::compute::cast(batch.column(0), &tsql::arrow::datatypes::DataType::Utf8);
        let column = column.unwrap();
        let texts = tsql::arrow::array::AsArray::as_string::<i32>(&column);
        rows.extend(texts.iter().map(|text| text.unwrap_or("-").to_owned()));
    }
    rows
}

/// Returns a query of the parts of the twelve tasks in order.
fn parts_query(call: &str) -> String {
    format!(
        "SELECT string_agg(part, ' ' ORDER BY number) FROM (SELECT DISTINCT CAST(substr(workload_name, 3) AS INTEGER) AS number, \
         coalesce({call}, '-') AS part FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id)"
    )
}

/// Ten ingest orders. In each one the split is created after another fraction of the files.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn splits_do_not_depend_on_ingest_order_and_appends_move_nothing() {
    let (_place, mut files) = twelve_tasks();
    let task = SplitOptions::default().ratio("2/1/1").seed(7);
    let config = task.clone().unit(SplitUnit::Config);
    let parts = "SELECT config_key || split('c') || split('t') AS k FROM records ORDER BY k";
    let mut known: Option<Vec<String>> = None;
    for order in 0..10 {
        // Each order is a rotation, and every second one is reversed.
        files.rotate_left(order);
        if order % 2 == 1 {
            files.reverse();
        }
        let store = Store::create("memory:").await.unwrap();
        let options = IngestOptions::default().platform("p");
        let (before, after) = files.split_at(1 + order);
        store.ingest(before, &options).await.unwrap();
        for (name, options) in [("t", &task), ("c", &config)] {
            let created = store.create_split(name, options).await.unwrap();
            assert!(created.is_new && created.split.version == 1, "{created:?}");
        }
        let earlier = text_rows(&store, parts).await;
        store.ingest(after, &options).await.unwrap();
        let all = text_rows(&store, parts).await;
        assert_eq!(all.len(), 36);
        assert!(earlier.iter().all(|one| all.contains(one)), "{order}");
        assert_eq!(known.get_or_insert_with(|| all.clone()), &all, "{order}");
        if order < 9 {
            continue;
        }
        assert_eq!(text_rows(&store, &parts_query("split('t')")).await, [TASKS]);
        let dag = task.clone().unit(SplitUnit::Dag);
        store.create_split("d", &dag).await.unwrap();
        assert_eq!(
            text_rows(&store, &parts_query("split('d@1')")).await,
            [DAGS]
        );
        // An equal split gets no new version.
        let again = store.create_split("t", &task).await.unwrap();
        assert!(
            !again.is_new && again.split.full_name() == "t@1",
            "{again:?}"
        );
        let other = task.clone().seed(8);
        let other = store.create_split("t", &other).await.unwrap();
        assert_eq!(other.split.full_name(), "t@2");
        assert_ne!(text_rows(&store, &parts_query("split('t')")).await, [TASKS]);
        assert_eq!(
            text_rows(&store, &parts_query("split('t@1')")).await,
            [TASKS]
        );
    }
}

/// Returns a store of two platforms: `mm` in two shapes (one DAG) and `xx`, with lines 1 to 3 of each, all of one
/// sketch.
pub(crate) fn shapes() -> Place {
    let place = Place::new();
    for platform in ["p", "q"] {
        let large = task_lines("[\\\"mm\\\", 128, 128]", 1);
        let xx = task_lines("[\\\"xx\\\", 64, 64]", 11);
        place.write(&format!("{platform}/logs.json"), log(1, 3) + &large + &xx);
    }
    place.ok(&["ingest", "-q", "p", "q"]);
    place
}

/// Returns level, units, leaking units and leaking records.
fn leaks(place: &Place, args: &[&str], code: i32) -> Vec<String> {
    let args = [&["split", "check"], args, &["--format", "jsonl"]].concat();
    let ran = place.tsql(&args);
    assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
    let rows = ran.stdout.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| row[name].as_u64().unwrap();
        format!(
            "{} {} {} {}/{}",
            row["level"].as_str().unwrap(),
            number("unit_count"),
            number("leaking_unit_count"),
            number("leaking_record_count"),
            number("held_out_record_count"),
        )
    });
    rows.collect()
}

/// Expected numbers are counted by hand.
#[test]
#[ignore = "full tier"]
fn leaks_are_counted_at_each_level() {
    let place = shapes();
    // The large shape is the test set: 3 lines on each platform.
    let large = "SELECT graph_id FROM graphs WHERE workload_key LIKE '%128%'";
    place.ok(&[
        "split",
        "create",
        "large",
        "--unit",
        "task",
        "--ratio",
        "1/0/0",
        "--hold-out",
        large,
    ]);
    let found = leaks(&place, &["large"], 0);
    // 9 configurations on 2 platforms; 3 tasks; 2 DAGs, of which `mm` is in both parts; one sketch in both; no network.
    assert_eq!(
        found,
        [
            "L0 18 0 0/6",
            "L1 9 0 0/6",
            "L2 3 0 0/6",
            "L3 2 1 6/6",
            "L4 1 1 6/6",
            "L5 0 0 0/6"
        ]
    );
    assert_eq!(leaks(&place, &["large", "--level", "l3"], 1), found);
    // One platform is the test set: each configuration is on both.
    place.ok(&[
        "split",
        "create",
        "q",
        "--unit",
        "platform",
        "--ratio",
        "1/0/0",
        "--hold-out",
        "SELECT 'q'",
    ]);
    assert_eq!(
        leaks(&place, &["q"], 0),
        [
            "L0 18 0 0/9",
            "L1 9 9 9/9",
            "L2 3 3 9/9",
            "L3 2 2 9/9",
            "L4 1 1 9/9",
            "L5 0 0 0/9"
        ]
    );
    // A split by DAG puts both shapes together. It has only one platform.
    let of_p = "SELECT * FROM records WHERE platform = 'p'";
    let xx = "SELECT 'xx' AS dag, 'valid' AS part";
    let args = [
        "split",
        "create",
        "xx",
        "--unit",
        "dag",
        "--ratio",
        "1/0/0",
        "--hold-out",
        xx,
        "--query",
        of_p,
    ];
    let stderr = place.ok(&args).stderr;
    assert!(
        stderr.contains("xx@1: 2 units by dag; train 6 records, valid 3 records"),
        "{stderr}"
    );
    assert_eq!(
        leaks(&place, &["xx"], 0),
        [
            "L0 9 0 0/3",
            "L1 9 0 0/3",
            "L2 3 0 0/3",
            "L3 2 0 0/3",
            "L4 1 1 3/3",
            "L5 0 0 0/3"
        ]
    );
    // Only assignments that do not follow from keys are stored.
    assert_eq!(
        place.rows("SELECT name, kind, key, value FROM split_units ORDER BY name, key"),
        [
            "large,held,\"[\"\"mm\"\", 128, 128]\",test",
            "q,held,q,test",
            "xx,held,xx,valid"
        ]
    );
    place.ok(&["check"]);
}

/// A split by lines holds out the first tenth of each file, as in TenSet. A split by time holds out later records.
#[test]
fn cuts_are_stored() {
    let place = Place::new();
    place.write("p/a.json", log(1, 15));
    place.write("p/b.json", log(101, 4));
    place.ok(&["ingest", "-q", "p"]);
    let stderr = place
        .ok(&["split", "create", "--preset", "tenset-within-task"])
        .stderr;
    // 15 - floor(13.5) and 4 - floor(3.6) lines.
    assert!(
        stderr.contains("train 16 records, test 3 records"),
        "{stderr}"
    );
    assert!(stderr.contains("leaks by definition"), "{stderr}");
    let lines = "SELECT string_agg(CAST(line AS VARCHAR), ' ' ORDER BY s.name, line) FROM records AS r JOIN files AS s ON s.source_id = r.source_id \
        WHERE split('tenset-within-task', r) = 'test'";
    assert_eq!(place.rows(lines), ["1 2 1"]);
    place.ok(&[
        "split", "create", "late", "--unit", "time", "--ratio", "6/2/2",
    ]);
    // Times are 1700000001 to ...15 and ...101 to ...104 seconds: 19 records, so the cuts are after 11.4 and 15.2
    // records.
    assert_eq!(
        place.rows("SELECT key, CAST(value AS BIGINT) - 1700000000 FROM split_units WHERE name = 'late' ORDER BY key"),
        ["test,102", "valid,13"]
    );
    assert_eq!(
        place.rows(
            "SELECT split('late') AS part, count(*) FROM records GROUP BY part ORDER BY part"
        ),
        ["test,3", "train,12", "valid,4"]
    );
    place.write("p/c.json", log(5, 1) + &log(500, 1));
    place.ok(&["ingest", "-q", "p"]);
    assert_eq!(
        place.rows(
            "SELECT split('late') AS part, count(*) FROM records GROUP BY part ORDER BY part"
        ),
        ["test,4", "train,13", "valid,4"]
    );
    // A later file has no cut.
    assert_eq!(
        place.rows("SELECT split('tenset-within-task') AS part, count(*) FROM records GROUP BY part ORDER BY part"),
        ["test,3", "train,16", ",2"]
    );
}

/// Real logs: random configurations leak, tasks do not, their DAGs do.
#[test]
#[ignore = "full tier"]
fn random_configurations_of_real_logs_leak_and_tasks_do_not() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/tenset/x86");
    place.ok(&["ingest", "-q", logs.to_str().unwrap(), "--platform", "x86"]);
    let siblings = "SELECT count(*) FILTER (WHERE n > 1), count(*) FROM (SELECT count(*) OVER (PARTITION BY workload_name) AS n FROM graphs \
        WHERE graph_id IN (SELECT graph_id FROM records))";
    // Counted in Python: 8 of 27 tasks have a DAG in common with another task.
    assert_eq!(place.rows(siblings), ["8,27"]);
    for unit in ["config", "task"] {
        place.ok(&["split", "create", unit, "--unit", unit, "--seed", "1"]);
    }
    let leaking = |rows: &[String], level: usize| -> u64 {
        let words: Vec<&str> = rows[level].split(' ').collect();
        words[2].parse().unwrap()
    };
    let config = leaks(&place, &["config", "--level", "L2"], 1);
    assert!(
        leaking(&config, 1) == 0 && leaking(&config, 2) > 0,
        "{config:?}"
    );
    let task = leaks(&place, &["task"], 0);
    assert!(leaking(&task, 2) == 0 && leaking(&task, 3) > 0, "{task:?}");
}

/// A split is one row of one commit, so it exists completely or not at all.
#[test]
#[ignore = "full tier"]
fn a_killed_split_creation_is_all_or_nothing() {
    let place = shapes();
    let args = [
        "split",
        "create",
        "k",
        "--unit",
        "task",
        "--ratio",
        "1/0/0",
        "--hold-out",
        "SELECT graph_id FROM graphs",
    ];
    let started = Instant::now();
    place.ok(&args);
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    place.ok(&["split", "drop", "k"]);
    for kill in 0..wanted("TSQL_TEST_KILLS", 4) {
        let mut command = place.command(&args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_micros(whole * (2 + kill % 4) / 5));
        let _ = child.kill();
        child.wait().unwrap();
        let rows = place.rows(
            "SELECT count(*), (SELECT count(*) FROM split_units WHERE key IS NOT NULL) FROM splits",
        );
        assert!(rows == ["0,0"] || rows == ["1,3"], "{rows:?}");
        if rows == ["1,3"] {
            place.ok(&["split", "drop", "k"]);
        }
    }
    place.ok(&args);
    assert_eq!(
        place.rows("SELECT split('k') AS part, count(*) FROM records GROUP BY part"),
        ["test,18"]
    );
    place.ok(&["check"]);
}

/// The number of a dropped version never refers to another version.
#[test]
fn version_numbers_of_dropped_splits_are_not_reused() {
    let place = Place::new();
    place.write("logs/a/x.json", log(1, 4));
    place.ok(&["ingest", "-q", "logs"]);
    let create_with = |seed: &str| {
        let create = ["split", "create", "s", "--unit", "task", "--seed", seed];
        place.ok(&create).stderr
    };
    for (seed, name) in [("1", "s@1:"), ("1", "s@1 already exists"), ("2", "s@2:")] {
        assert!(create_with(seed).starts_with(name), "{seed}");
    }
    place.ok(&["split", "drop", "s@2"]);
    assert!(create_with("3").starts_with("s@3:"));
    place.ok(&["split", "drop", "s"]);
    assert!(
        create_with("3").starts_with("s@4:"),
        "the same as one that was dropped"
    );
    let another = place.ok(&["split", "create", "t", "--unit", "task"]).stderr;
    assert!(another.starts_with("t@1:"), "{another}");
    let ran = place.tsql(&["SELECT split('s@1') FROM records"]);
    assert!(
        ran.code != Some(0) && ran.stderr.contains("s@4"),
        "{}",
        ran.stderr
    );
}

/// A copied store has equal splits.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn splits_are_equal_in_another_store() {
    let (_place, files) = twelve_tasks();
    let (one, other) = (
        Store::create("memory:").await.unwrap(),
        Store::create("memory:").await.unwrap(),
    );
    let ingest = IngestOptions::default().platform("p");
    one.ingest(&files, &ingest).await.unwrap();
    other.ingest(&files[6..], &ingest).await.unwrap();
    let options = SplitOptions::default().ratio("2/1/1").seed(7);
    let created = one.create_split("t", &options).await.unwrap();
    let created_there = other.create_split("u", &options).await.unwrap();
    assert_eq!(created.split.digest, created_there.split.digest);
    one.copy_to(&other, &tsql::CopyOptions::default())
        .await
        .unwrap();
    assert_eq!(other.split("t").await.unwrap(), created.split);
    assert_eq!(text_rows(&other, &parts_query("split('t')")).await, [TASKS]);
    let keys = "SELECT config_key FROM configurations ORDER BY config_key";
    assert_eq!(text_rows(&one, keys).await, text_rows(&other, keys).await);
    assert!(
        other
            .check_split("t", Some(LeakLevel::L2))
            .await
            .unwrap()
            .is_clean()
    );
}

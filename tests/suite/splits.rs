//! Splits: parts that follow from keys alone, what leaks between them, and what is refused.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tsql::splits::{LeakLevel, SplitOptions, SplitUnit};
use tsql::{IngestOptions, SessionOptions, Store};

use crate::support::{Place, log, shared, wanted};

/// Parts of the tasks `["mm0", 64, 64]` to `["mm11", 64, 64]` on llvm with seed 7 and 2/1/1, and of the DAGs `mm0` to `mm11`, by Python's
/// xxhash.
const TASKS: &str = "train train train valid train train train train train test test valid";
const DAGS: &str = "train train train train train test train valid valid train test train";

/// Three lines of a task of our own.
fn of_task(name: &str, first: u32) -> String {
    log(first, 3).replace("[\\\"mm\\\", 64, 64]", name)
}

fn task(number: usize) -> String {
    format!("[\\\"mm{number}\\\", 64, 64]")
}

/// Twelve tasks, a file each.
fn twelve() -> (Place, Vec<String>) {
    let place = Place::new();
    let files = (0..12).map(|number| {
        let path = place.write(&format!("p/{number}.json"), of_task(&task(number), 1));
        path.to_str().unwrap().to_owned()
    });
    let files = files.collect();
    (place, files)
}

async fn told(store: &Store, sql: &str) -> Vec<String> {
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

/// The parts of the twelve tasks, in their order.
fn in_order(call: &str) -> String {
    format!(
        "SELECT string_agg(part, ' ' ORDER BY number) FROM (SELECT DISTINCT CAST(substr(workload_name, 3) AS INTEGER) AS number, \
         coalesce({call}, '-') AS part FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id)"
    )
}

/// Ten orders, and in each the split is made after another share of the files.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_split_comes_of_ten_orders_and_appending_moves_nothing() {
    let (_place, mut files) = twelve();
    let task = SplitOptions::default().ratio("2/1/1").seed(7);
    let config = task.clone().unit(SplitUnit::Config);
    let parts = "SELECT config_key || split('c') || split('t') AS k FROM records ORDER BY k";
    let mut known: Option<Vec<String>> = None;
    for order in 0..10 {
        // Another order each time: rotated, every other one reversed.
        files.rotate_left(order);
        if order % 2 == 1 {
            files.reverse();
        }
        let store = Store::create("memory:").await.unwrap();
        let options = IngestOptions::default().platform("p");
        let (before, after) = files.split_at(1 + order);
        store.ingest(before, &options).await.unwrap();
        for (name, options) in [("t", &task), ("c", &config)] {
            let made = store.create_split(name, options).await.unwrap();
            assert!(made.is_new && made.split.version == 1, "{made:?}");
        }
        let earlier = told(&store, parts).await;
        store.ingest(after, &options).await.unwrap();
        let all = told(&store, parts).await;
        assert_eq!(all.len(), 36);
        assert!(earlier.iter().all(|one| all.contains(one)), "{order}");
        assert_eq!(known.get_or_insert_with(|| all.clone()), &all, "{order}");
        if order < 9 {
            continue;
        }
        assert_eq!(told(&store, &in_order("split('t')")).await, [TASKS]);
        let dag = task.clone().unit(SplitUnit::Dag);
        store.create_split("d", &dag).await.unwrap();
        assert_eq!(told(&store, &in_order("split('d@1')")).await, [DAGS]);
        // What is the same already has no other version.
        let again = store.create_split("t", &task).await.unwrap();
        assert!(
            !again.is_new && again.split.full_name() == "t@1",
            "{again:?}"
        );
        let other = task.clone().seed(8);
        let other = store.create_split("t", &other).await.unwrap();
        assert_eq!(other.split.full_name(), "t@2");
        assert_ne!(told(&store, &in_order("split('t')")).await, [TASKS]);
        assert_eq!(told(&store, &in_order("split('t@1')")).await, [TASKS]);
    }
}

/// Of two platforms: `mm` in two shapes (one DAG) and `xx`; lines 1 to 3 of each. All are of one sketch.
pub(crate) fn shapes() -> Place {
    let place = Place::new();
    for platform in ["p", "q"] {
        let large = of_task("[\\\"mm\\\", 128, 128]", 1);
        let xx = of_task("[\\\"xx\\\", 64, 64]", 11);
        place.write(&format!("{platform}/logs.json"), log(1, 3) + &large + &xx);
    }
    place.ok(&["ingest", "-q", "p", "q"]);
    place
}

/// Level, units and leaking units, leaking records.
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

/// Counted by hand.
#[test]
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
    // 9 configurations on 2 platforms; 3 tasks; 2 DAGs, of which `mm` lies in both parts; one sketch in both; no network.
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
    // By DAG, both shapes go together; only of one platform.
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
    let made = place.ok(&args).stderr;
    assert!(
        made.contains("xx@1: 2 units by dag; train 6 records, valid 3 records"),
        "{made}"
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
    // What is stored is what does not follow from keys.
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

/// By lines, the first tenth of each file is held out, as TenSet counts; by time, whatever is later.
#[test]
fn cuts_are_stored() {
    let place = Place::new();
    place.write("p/a.json", log(1, 15));
    place.write("p/b.json", log(101, 4));
    place.ok(&["ingest", "-q", "p"]);
    let made = place
        .ok(&["split", "create", "--preset", "tenset-within-task"])
        .stderr;
    // 15 - floor(13.5) and 4 - floor(3.6) lines.
    assert!(made.contains("train 16 records, test 3 records"), "{made}");
    assert!(made.contains("leaks by definition"), "{made}");
    let lines = "SELECT string_agg(CAST(line AS VARCHAR), ' ' ORDER BY s.name, line) FROM records AS r JOIN files AS s ON s.source_id = r.source_id \
        WHERE split('tenset-within-task', r) = 'test'";
    assert_eq!(place.rows(lines), ["1 2 1"]);
    place.ok(&[
        "split", "create", "late", "--unit", "time", "--ratio", "6/2/2",
    ]);
    // Measured at seconds 1700000001 to ...15 and ...101 to ...104: 19 records, so 11.4 and 15.2 come before.
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
    // A file that came later has no cut.
    assert_eq!(
        place.rows("SELECT split('tenset-within-task') AS part, count(*) FROM records GROUP BY part ORDER BY part"),
        ["test,3", "train,16", ",2"]
    );
}

/// Real logs: random configurations leak, tasks do not, their DAGs do.
#[test]
fn random_configurations_of_real_logs_leak_and_tasks_do_not() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/tenset/x86");
    place.ok(&["ingest", "-q", logs.to_str().unwrap(), "--platform", "x86"]);
    let siblings = "SELECT count(*) FILTER (WHERE n > 1), count(*) FROM (SELECT count(*) OVER (PARTITION BY workload_name) AS n FROM graphs \
        WHERE graph_id IN (SELECT graph_id FROM records))";
    // By Python: of 27 tasks 8 have a DAG that another one has.
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

/// A split is one row of one commit: it is there as a whole, or not at all.
#[test]
fn a_split_whose_making_was_killed_is_whole_or_not_there() {
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

/// What was written down about a version that was dropped is never true of another one.
#[test]
fn numbers_of_dropped_versions_are_not_given_out_again() {
    let place = Place::new();
    place.write("logs/a/x.json", log(1, 4));
    place.ok(&["ingest", "-q", "logs"]);
    let made = |seed: &str| {
        let create = ["split", "create", "s", "--unit", "task", "--seed", seed];
        place.ok(&create).stderr
    };
    for (seed, name) in [("1", "s@1:"), ("1", "s@1 is that already"), ("2", "s@2:")] {
        assert!(made(seed).starts_with(name), "{seed}");
    }
    place.ok(&["split", "drop", "s@2"]);
    assert!(made("3").starts_with("s@3:"));
    place.ok(&["split", "drop", "s"]);
    assert!(
        made("3").starts_with("s@4:"),
        "the same as one that was dropped"
    );
    let another = place.ok(&["split", "create", "t", "--unit", "task"]).stderr;
    assert!(another.starts_with("t@1:"), "{another}");
    let gone = place.tsql(&["SELECT split('s@1') FROM records"]);
    assert!(
        gone.code != Some(0) && gone.stderr.contains("s@4"),
        "{}",
        gone.stderr
    );
}

/// A copy has the splits, which mean the same there.
#[tokio::test(flavor = "multi_thread")]
async fn splits_mean_the_same_in_another_store() {
    let (_place, files) = twelve();
    let (one, other) = (
        Store::create("memory:").await.unwrap(),
        Store::create("memory:").await.unwrap(),
    );
    let ingest = IngestOptions::default().platform("p");
    one.ingest(&files, &ingest).await.unwrap();
    other.ingest(&files[6..], &ingest).await.unwrap();
    let options = SplitOptions::default().ratio("2/1/1").seed(7);
    let made = one.create_split("t", &options).await.unwrap();
    let there = other.create_split("u", &options).await.unwrap();
    assert_eq!(made.split.digest, there.split.digest);
    one.copy_to(&other, &tsql::CopyOptions::default())
        .await
        .unwrap();
    assert_eq!(other.split("t").await.unwrap(), made.split);
    assert_eq!(told(&other, &in_order("split('t')")).await, [TASKS]);
    let keys = "SELECT config_key FROM configurations ORDER BY config_key";
    assert_eq!(told(&one, keys).await, told(&other, keys).await);
    assert!(
        other
            .check_split("t", Some(LeakLevel::L2))
            .await
            .unwrap()
            .is_clean()
    );
}

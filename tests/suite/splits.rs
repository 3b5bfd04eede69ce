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
    let frame = tsql::query::ask(&context, sql, &[]).await.unwrap();
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
fn shapes() -> Place {
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

#[test]
fn what_cannot_be_split_is_refused() {
    let place = shapes();
    let refused = |args: &[&str], words: &[&str]| {
        let args = [&["split", "create"], args].concat();
        let ran = place.tsql(&args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
        }
    };
    refused(
        &["a", "--unit", "network"],
        &["a split of no units", "network_info"],
    );
    refused(
        &[
            "a",
            "--unit",
            "task",
            "--query",
            "SELECT * FROM records WHERE platform = 'no'",
        ],
        &["a split of no units: the query has no record with a task"],
    );
    for ratio in ["80/20", "0.8/0.1/0.1", "0/0/0", "x"] {
        refused(
            &["a", "--unit", "task", "--ratio", ratio],
            &["no ratios", "80/10/10"],
        );
    }
    refused(
        &["a", "--unit", "taks"],
        &["no unit of a split named `taks`", "did you mean `task`?"],
    );
    refused(
        &["a b", "--unit", "task"],
        &["`a b` is no name for a split"],
    );
    refused(
        &["a@1", "--unit", "task"],
        &["`a@1` is no name for a split"],
    );
    refused(
        &[
            "a",
            "--unit",
            "task",
            "--hold-out",
            "SELECT graph_id FROM graphs WHERE kind = 'no'",
        ],
        &["names no unit of the store", "try it first"],
    );
    refused(
        &["a", "--unit", "platform", "--hold-out", "SELECT 'pp'"],
        &["no platform named `pp`", "there are p, q"],
    );
    refused(
        &[
            "a",
            "--unit",
            "dag",
            "--hold-out",
            "SELECT 'mm', 'later' AS part",
        ],
        &["`later` is no part"],
    );
    refused(
        &[
            "a",
            "--unit",
            "dag",
            "--hold-out",
            "SELECT workload_name AS k, CASE WHEN workload_key LIKE '%128%' THEN 'test' ELSE 'valid' END AS part FROM graphs",
        ],
        &["`mm` is to be in"],
    );
    refused(
        &["a", "--unit", "time", "--hold-out", "SELECT 1"],
        &["no units that are held out"],
    );
    refused(
        &[
            "a",
            "--unit",
            "task",
            "--query",
            "SELECT platform FROM records",
        ],
        &["no column `graph_id`"],
    );
    refused(&["a", "--unit", "task", "--query", "SELEC"], &["SELEC"]);
    refused(
        &["--preset", "tenset-all"],
        &["did you mean `tenset-all-five`?"],
    );
    refused(
        &["--preset", "tenset-all-five"],
        &["names no unit of the store", "network_info"],
    );
    assert_eq!(place.rows("SELECT count(*) FROM splits"), ["0"]);
    let none = place.tsql(&["SELECT split('a') FROM records"]).stderr;
    assert!(
        none.contains("no split named `a`") && none.contains("tsql split create"),
        "{none}"
    );

    place.ok(&["split", "create", "by-task", "--unit", "task"]);
    for (sql, words) in [
        (
            "SELECT split('by-tsk') FROM records",
            "did you mean `by-task`?",
        ),
        (
            "SELECT split('by-task@2') FROM records",
            "no split named `by-task@2`",
        ),
        (
            "SELECT split('by-task') FROM platforms_of_mine",
            "platforms_of_mine",
        ),
        (
            "SELECT split('by-task') FROM (SELECT platform FROM records)",
            "follows from graph_id, environment_id of each row",
        ),
        (
            "SELECT split('by-task')",
            "follows from graph_id, environment_id of each row",
        ),
        (
            "SELECT split(platform) FROM records",
            "takes the name of a split in quotes",
        ),
        (
            "SELECT split('by-task') FROM records AS a JOIN records AS b ON a.config_id = b.config_id",
            "name it: split('by-task', a)",
        ),
        ("SELECT table_version('recrods')", "did you mean `records`?"),
    ] {
        let ran = place.tsql(&[sql]);
        assert!(
            ran.code != Some(0) && ran.stderr.contains(words),
            "{sql}: {}",
            ran.stderr
        );
    }
    let unknown = place
        .tsql(&["split", "check", "by-task", "--level", "L9"])
        .stderr;
    assert!(
        unknown.contains("no level of leaks named `L9`"),
        "{unknown}"
    );
    assert!(
        place
            .tsql(&["split", "drop", "by"])
            .stderr
            .contains("did you mean `by-task`?")
    );
    place.ok(&["split", "drop", "by-task"]);
    assert_eq!(place.rows("SELECT count(*) FROM splits"), ["0"]);
}

/// Wherever a function may stand; pruned like a column; the same at another time.
#[test]
fn a_split_is_a_function_of_the_row() {
    let place = shapes();
    let large = "SELECT graph_id FROM graphs WHERE workload_key LIKE '%128%'";
    for (name, unit) in [("t", "task"), ("s", "structure")] {
        place.ok(&[
            "split",
            "create",
            name,
            "--unit",
            unit,
            "--ratio",
            "1/0/0",
            "--hold-out",
            large,
        ]);
    }
    place.ok(&["tag", "create", "then"]);
    let questions = [
        // In ORDER BY, GROUP BY, HAVING, windows, filters, subqueries, common tables, joins under other names.
        (
            "SELECT platform, line FROM records ORDER BY split('t'), platform DESC, line DESC LIMIT 1",
            "q,6",
        ),
        (
            "SELECT split('t'), count(*) FROM records GROUP BY 1 ORDER BY 1",
            "test,6|train,12",
        ),
        (
            "SELECT count(*) FILTER (WHERE split('t') = 'test') FROM records",
            "6",
        ),
        (
            "SELECT count(*) FROM records AS r JOIN configurations AS c ON c.config_id = r.config_id WHERE split('t') = 'test'",
            "6",
        ),
        (
            "SELECT count(*) FROM configurations WHERE split('s') IN ('test', 'valid')",
            "6",
        ),
        (
            "WITH x AS (SELECT *, split('t') AS part FROM records) SELECT part, max(line) FROM x WHERE part <> 'train' GROUP BY part",
            "test,6",
        ),
        (
            "SELECT count(*) FROM records AS a JOIN records AS b ON a.config_id = b.config_id WHERE split('t', a) = 'test' AND split('s', b) = 'test'",
            "12",
        ),
        (
            "FROM records SELECT count(*) WHERE NOT (split('t') = 'test')",
            "12",
        ),
        (
            "SELECT count(*) FROM (SELECT graph_id, environment_id FROM records) WHERE split('t') = 'train'",
            "12",
        ),
        (
            "SELECT part, n FROM (SELECT split('s') AS part, count(*) AS n FROM records GROUP BY 1) ORDER BY n",
            "train,6|test,12",
        ),
        (
            "SELECT DISTINCT split('t') || '!' AS p FROM records WHERE split('t') = 'valid'",
            "",
        ),
        // Keys of records.
        (
            "SELECT count(DISTINCT config_key), count(DISTINCT r.graph_key), count(DISTINCT environment_key) FROM records AS r",
            "9,3,1",
        ),
        (
            "SELECT count(*) FROM records WHERE config_key IN (SELECT config_key FROM configurations WHERE graph_id IN (SELECT graph_id FROM graphs WHERE workload_key LIKE '%128%'))",
            "6",
        ),
        (
            "SELECT count(*) FROM records AS r JOIN (SELECT DISTINCT config_key FROM records) AS k ON k.config_key = r.config_key",
            "18",
        ),
        (
            "SELECT count(*) FROM records JOIN (SELECT config_key FROM configurations LIMIT 2) AS k USING (config_key)",
            "4",
        ),
        (
            "SELECT octet_length(key_text(key_bytes(config_key))) FROM records ORDER BY config_key LIMIT 1",
            "32",
        ),
        (
            "WITH records AS (SELECT 1 AS config_key) SELECT config_key FROM records",
            "1",
        ),
    ];
    let mut text = String::new();
    for (sql, _) in questions {
        text += &format!("SELECT '#' AS asked; {sql};\n");
    }
    let wide = "SELECT * FROM records WHERE config_key = 'x'; SELECT * FROM records LIMIT 0;";
    place.write("q.sql", format!("{text}{wide}"));
    place.ok(&["ingest", "-q", "p", "q"]);
    for at in [&[][..], &["--at", "then"]] {
        let out = place
            .ok(&[at, &["-f", "q.sql", "--format", "csv"]].concat())
            .stdout;
        let answers: Vec<&str> = out.split("asked\n#\n").collect();
        assert_eq!(answers.len(), questions.len() + 1, "{out}");
        for ((sql, expected), answer) in questions.iter().zip(&answers[1..]) {
            let mut rows = answer
                .lines()
                .skip(1)
                .filter(|row| !row.starts_with("dataset,"));
            let rows: Vec<&str> = rows.by_ref().collect();
            assert_eq!(rows.join("|"), *expected, "{sql}");
        }
    }
    // `*` is the same with and without a key in the condition.
    let header = |sql: &str| {
        place
            .ok(&[sql])
            .stdout
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let all = header("SELECT * FROM records LIMIT 1");
    let keyed = "SELECT * FROM records WHERE config_key = (SELECT min(config_key) FROM configurations) LIMIT 1";
    assert_eq!(header(keyed), all);
    assert!(!all.contains("config_key"));
    let explained = place
        .ok(&["EXPLAIN SELECT runtime_ns FROM records WHERE split('s') = 'test'"])
        .stdout;
    assert!(
        explained.contains("graph_id") && !explained.contains("part_in_table"),
        "{explained}"
    );
    let explained = place
        .ok(&["EXPLAIN SELECT runtime_ns FROM records WHERE split('t') = 'test'"])
        .stdout;
    assert!(
        explained.contains("graph_id = ") && explained.contains("part_in_table"),
        "{explained}"
    );
    let version = place.rows("SELECT table_version('records')");
    assert_eq!(
        place.rows("SELECT max(version) FROM (SELECT table_version('records') AS version)"),
        version
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
            place.ok(&["split", "drop", "k@1"]);
        }
    }
    place.ok(&args);
    assert_eq!(
        place.rows("SELECT split('k') AS part, count(*) FROM records GROUP BY part"),
        ["test,18"]
    );
    place.ok(&["check"]);
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

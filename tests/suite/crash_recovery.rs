//! Kills at random moments and reruns: every row is stored once. Concurrent writers lose and duplicate nothing.
//!
//! `TSQL_TEST_KILLS=100` runs more kills in each test.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::metaschedule;
use crate::networks::{NETWORK, RELAY};
use crate::npz::{layout_file, npz, tile_file};
use crate::support::{Place, log, wanted};

const FILES: [&str; 4] = ["p/a.json", "p/b.json", "q/c.json", "q/d.json"];

fn place_with_logs() -> Place {
    let place = Place::new();
    for (index, file) in (0_u32..).zip(FILES) {
        let text = log(1 + index * 500, 700) + "# a comment\nno record\n" + &log(9000 + index, 30);
        place.write(file, text);
    }
    place
}

fn assert_whole(place: &Place) {
    assert_eq!(
        place.rows("SELECT count(*), count(DISTINCT (source_id, line)) FROM records"),
        ["2920,2920"]
    );
    assert_eq!(
        place.rows("SELECT kind, count(*) FROM lines GROUP BY 1 ORDER BY 1"),
        ["comment,4", "rejected,4"]
    );
    assert_eq!(place.rows("SELECT count(*) FROM sources"), ["4"]);
    place.assert_sound(&FILES);
}

/// Random number generator with a fixed seed, so that each run has the same kills.
struct Random(u64);

impl Random {
    fn next_below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

#[test]
#[ignore = "full tier"]
fn kills_lose_and_duplicate_nothing() {
    let args = ["ingest", "-q", "p", "q"];
    let trial = place_with_logs();
    let started = Instant::now();
    trial.tsql(&args);
    let mut whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut random = Random(20_261_121);
    let mut place = place_with_logs();
    let mut interrupted = 0;
    let kills = wanted("TSQL_TEST_KILLS", 14);
    for kill in 0..kills {
        let mut child = place
            .command(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let after = random.next_below(whole + whole / 5);
        std::thread::sleep(Duration::from_micros(after));
        if child.try_wait().unwrap().is_none() {
            interrupted += 1;
        } else {
            // The first run may have been slow.
            whole = after;
        }
        let _ = child.kill();
        child.wait().unwrap();
        // In some cases the same store is killed several times before it is completed.
        if random.next_below(3) == 0 {
            continue;
        }
        // The run that reads a file reports its rejected lines. A run that finds it in the ingest log does not.
        let done = place.tsql(&["SELECT count(*) FROM sources"]);
        let is_done = done.stdout.lines().nth(1) == Some("4");
        let again = place.tsql(&args);
        assert_eq!(again.code, Some(i32::from(!is_done)), "{}", again.stderr);
        if kill % 10 == 9 {
            assert_whole(&place);
        }
        assert_eq!(place.rows("SELECT count(*) FROM records"), ["2920"]);
        place = place_with_logs();
    }
    place.tsql(&args);
    assert_whole(&place);
    assert!(
        interrupted > kills / 4,
        "only {interrupted} runs were still going when they were killed"
    );
}

/// Removes the ingest log, as after a kill before its commit. Rows of the current files replace the stored rows.
#[test]
#[ignore = "full tier"]
fn leftovers_of_an_interrupted_run_are_replaced() {
    let place = place_with_logs();
    place.tsql(&["ingest", "-q", "p", "q"]);
    std::fs::remove_dir_all(place.path().join(".tsql/sources")).unwrap();
    let as_it_was = place.read("p/a.json");
    // One file with the same number of lines and other values, and one with fewer lines.
    let text = String::from_utf8(as_it_was.clone()).unwrap();
    let changed = text.replace("\"r\": [[0.00", "\"r\": [[0.07");
    assert_ne!(changed, text);
    place.write("p/a.json", changed);
    place.write("p/b.json", log(5000, 3));
    let ran = place.tsql(&["ingest", "p"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("replaced         1464 rows"),
        "{}",
        ran.stderr
    );
    let of_a = "SELECT count(*), min(runtime_ns) > 7e7 FROM records JOIN files USING (source_id) \
                WHERE name = 'p/a.json'";
    assert_eq!(place.rows(of_a), ["730,true"]);
    // Rows of two files that are not ingested again are in no result.
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["733"]);
    place.tsql(&["ingest", "q"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["2193"]);
    place.assert_sound(&FILES);
    // A file that changes after its commit to the ingest log is another source.
    place.write("p/a.json", as_it_was);
    place.tsql(&["ingest", "p"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["2923"]);
    place.ok(&["check"]);
}

/// Nothing outside the ingest log proves its newest entry, but the rows without it are reported.
#[test]
fn a_lost_newest_entry_of_the_ingest_log_is_reported() {
    let place = Place::new();
    place.write("a.json", log(1, 10));
    place.write("b.json", log(100, 20));
    for name in ["a.json", "b.json"] {
        place.ok(&["ingest", "-q", name, "--platform", "k80"]);
    }
    let newest = |table: &str| {
        let folder = place.path().join(format!(".tsql/{table}/_delta_log"));
        let entries = std::fs::read_dir(folder).unwrap();
        let entries = entries.map(|entry| entry.unwrap().path());
        let entries = entries.filter(|path| path.extension().is_some_and(|end| end == "json"));
        entries.max().unwrap()
    };
    std::fs::remove_file(newest("sources")).unwrap();
    let count = ["SELECT count(*) FROM records"];
    // A run may be about to acknowledge rows that were just written.
    let ran = place.ok(&count);
    assert_eq!(ran.stderr, "", "{}", ran.stdout);
    let entry = newest("records");
    let text = std::fs::read_to_string(&entry).unwrap();
    let (before, after) = text.split_once("\"modificationTime\":").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    std::fs::write(
        &entry,
        format!("{before}\"modificationTime\":1700000000000{after}"),
    )
    .unwrap();
    let ran = place.ok(&count);
    assert!(ran.stdout.contains("10"), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "records: 20 rows are hidden, because the ingest log does not have them: an ingest was interrupted, or its \
         newest entry is lost\n\
         hint: ingest the same files again; `tsql check` names them\n"
    );
    place.ok(&["ingest", "-q", "b.json", "--platform", "k80"]);
    let ran = place.ok(&count);
    assert!(
        ran.stdout.contains("30") && ran.stderr.is_empty(),
        "{}",
        ran.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn two_runs_over_the_same_files_store_them_once() {
    for _ in 0..wanted("TSQL_TEST_ROUNDS", 2) {
        let place = place_with_logs();
        place.ok(&["init"]);
        let mut first = place.command(&["ingest", "-q", "p", "q"]).spawn().unwrap();
        let mut second = place.command(&["ingest", "-q", "p", "q"]).spawn().unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        assert_whole(&place);
    }
}

#[test]
fn four_writers_of_one_store_lose_nothing() {
    let place = Place::new();
    place.ok(&["init"]);
    let folders = ["w0", "w1", "w2", "w3"];
    for (index, folder) in (0_u32..).zip(folders) {
        for file in 0..3 {
            // Writers have half of their programs in common.
            place.write(
                &format!("{folder}/{file}.json"),
                log(1 + index * 50 + file * 1000, 100),
            );
        }
    }
    let children: Vec<_> = folders
        .iter()
        .map(|folder| place.command(&["ingest", "-q", folder]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["1200"]);
    assert_eq!(place.rows("SELECT count(*) FROM configurations"), ["750"]);
    assert_eq!(place.rows("SELECT count(*) FROM graphs"), ["1"]);
    place.ok(&["check"]);
}

/// TpuGraphs files: two of one graph, a kernel, and one with withheld runtimes.
const ARRAYS: [&str; 4] = [
    "layout/xla/random/train/a.npz",
    "layout/xla/default/train/a.npz",
    "tile/xla/valid/b_1.npz",
    "tile/xla/test/c.npz",
];

fn place_with_arrays() -> Place {
    let place = Place::new();
    let run = |one: u32| {
        let choice = |limit| i8::try_from(one % limit).unwrap();
        ((choice(5), choice(7)), f64::from(1000 + one * 37 % 501))
    };
    let runs: Vec<_> = (0..400).map(run).collect();
    place.write(ARRAYS[0], npz(&layout_file(&runs)));
    place.write(ARRAYS[1], npz(&layout_file(&runs[..90])));
    let tile = |one: u32| (f64::from(one), f64::from(100 + one), 100.0);
    let tiles: Vec<_> = (0..60).map(tile).collect();
    place.write(ARRAYS[2], npz(&tile_file(5, &tiles)));
    place.write(ARRAYS[3], npz(&tile_file(6, &[(0.0, 0.0, 1.0); 9])));
    place
}

/// Kills runs at random moments and reruns them. The counted rows must exist once.
fn completes(make: fn() -> Place, args: &[&str], counts: &str, wanted_counts: &[&str]) {
    let trial = make();
    let started = Instant::now();
    trial.ok(args);
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut random = Random(42);
    let mut place = make();
    for kill in 0..wanted("TSQL_TEST_KILLS", 8) {
        let mut child = place
            .command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.next_below(whole)));
        let _ = child.kill();
        child.wait().unwrap();
        if random.next_below(3) == 0 {
            continue;
        }
        place.ok(args);
        assert_eq!(place.rows(counts), wanted_counts);
        if kill % 8 == 4 {
            place.ok(&["check"]);
        }
        place = make();
    }
}

#[test]
#[ignore = "full tier"]
fn killed_array_ingests_complete_when_rerun() {
    let counts = "SELECT count(*), count(DISTINCT (source_id, line)), count(DISTINCT config_id), \
                  count(DISTINCT graph_id) FROM records";
    let args = ["ingest", "-q", "layout", "tile"];
    completes(place_with_arrays, &args, counts, &["559,559,104,3"]);
}

/// Returns a MetaSchedule database and a TenSet network.
fn place_with_databases() -> Place {
    let place = Place::new();
    let tiles =
        (0..300).map(|tile| metaschedule::record(tile % 2, 64 << (tile % 2), 1 + tile, "[0.5]"));
    place.write("db/database_tuning_record.json", tiles.collect::<String>());
    place.write("db/database_workload.json", metaschedule::workloads());
    place.write("info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
    place
}

#[test]
#[ignore = "full tier"]
fn killed_database_and_network_ingests_complete_when_rerun() {
    let tables = [
        "records",
        "workloads",
        "graphs",
        "texts",
        "tasks",
        "network_tasks",
        "relays",
    ];
    let counts = tables.map(|table| format!("(SELECT count(*) FROM {table})"));
    let counts = format!("SELECT {}", counts.join(", "));
    let args = ["ingest", "-q", "db", "info"];
    completes(place_with_databases, &args, &counts, &["300,2,3,4,1,1,1"]);
}

fn place_with_tuner_files() -> Place {
    let place = Place::new();
    for name in ["kernel_tuner", "t1", "ktt", "nvbench"] {
        place.write(
            &format!("tuners/{name}.json"),
            crate::autotuners::corpus(name),
        );
    }
    place
}

#[test]
#[ignore = "full tier"]
fn killed_ingests_of_autotuner_files_complete_when_rerun() {
    let counts = "SELECT (SELECT count(*) FROM records) AS a, (SELECT count(*) FROM spaces) AS b, \
                  (SELECT count(*) FROM graphs) AS c, (SELECT count(*) FROM texts) AS d, (SELECT count(*) FROM metrics) AS e";
    let args = ["ingest", "-q", "tuners"];
    completes(place_with_tuner_files, &args, counts, &["9,5,3,4,10"]);
}

/// Records of the current file replace records without a row in the ingest log.
#[test]
fn leftovers_of_an_interrupted_array_ingest_are_replaced() {
    let place = place_with_arrays();
    let args = ["ingest", "layout", "tile"];
    place.ok(&args);
    std::fs::remove_dir_all(place.path().join(".tsql/sources")).unwrap();
    place.write(ARRAYS[3], npz(&tile_file(7, &[(0.0, 0.0, 1.0); 9])));
    let stderr = place.ok(&args).stderr;
    assert!(stderr.contains("replaced         559"), "{stderr}");
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["559"]);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
}

#[test]
fn writers_of_the_same_arrays_store_them_once() {
    let place = place_with_arrays();
    let start = |_| {
        place
            .command(&["ingest", "-q", "layout", "tile"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..4).map(start).collect();
    for writer in writers {
        let ended = writer.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{stderr}");
    }
    let counts =
        "SELECT count(*), count(DISTINCT config_id), count(DISTINCT graph_id) FROM records";
    assert_eq!(place.rows(counts), ["559,104,3"]);
    assert_eq!(place.rows("SELECT count(*) FROM sources"), ["4"]);
    place.ok(&["check"]);
}

/// Samples and logs of GraphNet: every table gets its rows once, at any moment of a kill.
#[test]
#[ignore = "full tier"]
fn killed_sample_ingests_complete_when_rerun() {
    let own = crate::graphnet::own();
    let args = ["ingest", "-q", own.to_str().unwrap()];
    let trial = Place::new();
    let started = Instant::now();
    trial.ok(&args);
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut random = Random(7);
    let mut place = Place::new();
    for kill in 0..wanted("TSQL_TEST_KILLS", 7) {
        let mut child = place
            .command(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.next_below(whole)));
        let _ = child.kill();
        child.wait().unwrap();
        if random.next_below(3) == 0 {
            continue;
        }
        place.ok(&args);
        let counts = "SELECT (SELECT count(*) FROM sources) AS a, (SELECT count(*) FROM samples) AS b, \
                      (SELECT count(*) FROM runs) AS d, (SELECT count(*) FROM records) AS e";
        assert_eq!(place.rows(counts), ["21,4,7,7"]);
        // Files whose rows a killed run wrote are stored as text: two logs and a model.
        let texts =
            "SELECT count(*) BETWEEN 2 AND 5, count(*) = count(DISTINCT text_id) FROM texts";
        assert_eq!(place.rows(texts), ["true,true"]);
        if kill % 8 == 4 {
            place.ok(&["check"]);
        }
        place = Place::new();
    }
}

/// Queries run during ingests, `optimize`, merges and `vacuum`.
#[test]
#[ignore = "full tier"]
fn readers_see_only_committed_states() {
    let place = Place::new();
    place.ok(&["init"]);
    for file in 0..12 {
        place.write(&format!("p/{file}.json"), log(1 + file * 100, 100));
    }
    let writer = std::thread::spawn({
        let store = place.path().join(".tsql");
        let files: Vec<_> = (0..12)
            .map(|file| place.path().join(format!("p/{file}.json")))
            .collect();
        move || {
            for (number, file) in files.iter().enumerate() {
                let run = |args: &[&str]| {
                    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tsql"))
                        .args(["--store", store.to_str().unwrap()])
                        .args(args)
                        .output()
                        .unwrap();
                    assert!(output.status.success(), "{args:?}: {output:?}");
                };
                run(&["ingest", "-q", file.to_str().unwrap(), "--platform", "p"]);
                if number % 3 == 2 {
                    run(&["optimize"]);
                    run(&["vacuum", "--retain", "1min"]);
                }
            }
        }
    });
    let sql = "SELECT count(*), count(c.config_id), count(g.graph_id), count(*) % 100, count(*) = count(DISTINCT (source_id, line)) \
               FROM records r LEFT JOIN configurations c USING (config_id) LEFT JOIN graphs g ON g.graph_id = r.graph_id";
    let (mut runs, mut last) = (0, 0);
    while !writer.is_finished() {
        let row = place.rows(sql).remove(0);
        let fields: Vec<&str> = row.split(',').collect();
        let count: u32 = fields[0].parse().unwrap();
        assert_eq!(fields[1..], [fields[0], fields[0], "0", "true"], "{row}");
        assert!(count >= last, "{count} records after {last}");
        (runs, last) = (runs + 1, count);
    }
    writer.join().unwrap();
    assert!(runs > 5, "only {runs} queries ran");
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["1200"]);
    // Versions of records: 0 created the table, and each ingest added one.
    for (version, count) in [(1, "100"), (3, "300")] {
        let at = format!("records@{version}");
        let then = place.ok(&["--at", &at, "SELECT count(*) FROM records"]);
        assert_eq!(then.stdout, format!("count(*)\n{count}\n"), "{at}");
    }
    let ran = place.tsql(&["--at", "records@1", "ingest", "p"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("leave out --at"), "{}", ran.stderr);
}

/// A rewrite is killed at random moments. Rows are unchanged, and the next run completes it.
#[test]
#[ignore = "full tier"]
fn a_killed_optimize_is_all_or_nothing() {
    let place = Place::new();
    place.ok(&["init"]);
    for part in 0..6 {
        for (folder, first) in [("p", 1), ("q", 300)] {
            place.write(&format!("{folder}/{part}.json"), log(first + part * 50, 80));
            place.ok(&["ingest", "-q", folder]);
        }
    }
    let sums = "SELECT platform, count(*), sum(line), sum(runtime_ns), count(DISTINCT config_id) FROM records GROUP BY 1 ORDER BY 1";
    let before = place.rows(sums);
    let args = ["optimize", "--again"];
    let started = Instant::now();
    place.ok(&args);
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut random = Random(7);
    let mut interrupted = 0;
    let kills = wanted("TSQL_TEST_KILLS", 7);
    for kill in 0..kills {
        let mut child = place.command(&args).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.next_below(whole)));
        interrupted += u64::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        if kill % 5 == 4 {
            assert_eq!(place.rows(sums), before);
        }
    }
    assert!(
        interrupted > kills / 3,
        "only {interrupted} runs were still going when they were killed"
    );
    place.ok(&args);
    assert_eq!(place.rows(sums), before);
    place.ok(&["vacuum", "--retain", "0s"]);
    assert_eq!(place.rows(sums), before);
    place.assert_sound(&["p/0.json", "q/5.json"]);
}

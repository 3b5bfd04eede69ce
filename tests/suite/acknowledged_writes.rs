//! Durability of acknowledged lines: producers are killed at any moment and restart with new values.
//!
//! `TSQL_TEST_KILLS` sets the number of kills, `TSQL_TEST_SEED` selects them, and `TSQL_TEST_SECONDS` sets how long
//! `vacuum` runs beside writers.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::support::{Place, wanted};

/// Kills of each test.
const KILLS: u64 = 6;

/// Random number generator that prints its seed.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let variable = std::env::var("TSQL_TEST_SEED").ok();
        let seed = variable.and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("TSQL_TEST_SEED={seed}");
        Self(seed)
    }

    fn next_below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }

    /// Returns lines with new runtimes. Some lines are not records.
    fn measurement_lines(&mut self, count: u64) -> Vec<String> {
        let mut line = |number: u64| match self.next_below(12) {
            0 => format!("no record {}\n", self.next_below(1 << 30)),
            _ => format!(
                "{{\"workload_key\": [\"mm\", 8], \"steps\": {{\"TILE\": {}}}, \"repeats_ns\": [{}.5]}}\n",
                number % 7,
                1000 + self.next_below(1 << 30)
            ),
        };
        (0..count).map(&mut line).collect()
    }
}

fn kills() -> u64 {
    wanted("TSQL_TEST_KILLS", KILLS)
}

/// Asserts that every exported file has exactly these lines, and that the records match them.
fn assert_exactly(place: &Place, files: &[(String, String)]) {
    place.ok(&["check"]);
    let _ = std::fs::remove_dir_all(place.path().join("back"));
    place.ok(&["export", "--to", "back"]);
    for (name, text) in files {
        let back = String::from_utf8(place.read(&format!("back/{name}"))).unwrap();
        assert_eq!(back, *text, "{name}");
    }
    let values: Vec<&str> = files
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.split_once("repeats_ns\": [")?.1.strip_suffix("]}"))
        .collect();
    let rows = place.rows("SELECT runtime_ns FROM records");
    let sorted = |mut values: Vec<String>| {
        values.sort();
        values
    };
    let values = values.into_iter().map(str::to_owned).collect();
    assert_eq!(sorted(rows), sorted(values));
}

/// A stream, with the lines that were acknowledged to its producer.
struct Sent {
    name: String,
    acknowledged: Vec<String>,
}

/// Sends a stream: its acknowledged lines, then new ones. Kills the command after a time, if one is given. Returns
/// `false` if the store has more lines than were acknowledged.
fn send(place: &Place, sent: &mut Sent, new: Vec<String>, kill_after: Option<Duration>) -> bool {
    let args = [
        "append",
        "--stream",
        &sent.name,
        "--platform",
        "p",
        "--input-format",
        "measured",
    ];
    let mut child = place
        .command(&args)
        .args(["--rows", "3", "--ack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = sent.acknowledged.iter().cloned().chain(new).collect();
    let mut input = child.stdin.take().unwrap();
    let text = lines.concat();
    let wrote = std::thread::spawn(move || {
        // A killed process closes its input.
        let _ = input.write_all(text.as_bytes());
    });
    if let Some(after) = kill_after {
        std::thread::sleep(after);
        let _ = child.kill();
    }
    let ended = child.wait_with_output().unwrap();
    wrote.join().unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let last = stdout.lines().last().unwrap_or_default();
    let count = last.split_once("\"lines\":").map_or(0, |(_, rest)| {
        rest.split(',').next().unwrap().parse::<usize>().unwrap()
    });
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    if stderr.contains("that differ from the beginning of this input")
        || stderr.contains("but the input has fewer")
    {
        return false;
    }
    assert!(
        count >= sent.acknowledged.len() || kill_after.is_some(),
        "{stderr}"
    );
    if kill_after.is_none() {
        assert_eq!(count, lines.len(), "{stderr}");
    }
    if count > sent.acknowledged.len() {
        sent.acknowledged = lines[..count].to_vec();
    }
    true
}

#[test]
#[ignore = "full tier"]
fn killed_producers_lose_no_acknowledged_value() {
    let mut random = Random::new();
    let place = Place::new();
    place.ok(&["init"]);
    let mut sent = Sent {
        name: "s0".to_owned(),
        acknowledged: Vec::new(),
    };
    let (mut extended, mut acknowledged) = (0, 0);
    let mut done: Vec<(String, String)> = Vec::new();
    for kill in 0..kills() {
        let new = random.measurement_lines(30);
        let after = Duration::from_millis(random.next_below(600));
        let mut known = send(&place, &mut sent, new, Some(after));
        // The producer restarts in two of three cases, with other values.
        if known && random.next_below(3) > 0 {
            let count = 1 + random.next_below(9);
            let new = random.measurement_lines(count);
            known = send(&place, &mut sent, new, None);
            if known {
                let mut files = done.clone();
                let text = sent.acknowledged.concat();
                files.push((format!("streams/p/{}.jsonl", sent.name), text));
                assert_exactly(&place, &files);
            }
        }
        acknowledged = acknowledged.max(sent.acknowledged.len());
        if !known || sent.acknowledged.len() > 150 {
            // A commit group was stored without acknowledgement: the rest gets another name. The stored stream begins
            // with the acknowledged lines.
            extended += u32::from(!known);
            let back = Place::new();
            let target = back.path().join("back");
            place.tsql(&["check"]);
            place.ok(&["export", "--to", target.to_str().unwrap()]);
            let name = format!("streams/p/{}.jsonl", sent.name);
            let stored = std::fs::read_to_string(target.join(&name)).unwrap();
            assert!(stored.starts_with(&sent.acknowledged.concat()), "{name}");
            done.push((name, stored));
            sent = Sent {
                name: format!("s{}", kill + 1),
                acknowledged: Vec::new(),
            };
        }
    }
    eprintln!("{extended} streams had more than was acknowledged; up to {acknowledged} lines");
}

#[test]
#[ignore = "full tier"]
fn files_changed_between_kill_and_rerun_are_stored() {
    let mut random = Random::new();
    let place = Place::new();
    place.ok(&["init"]);
    let mut wanted: Vec<(String, String)> = Vec::new();
    for kill in 0..kills() {
        let folder = format!("k{kill}");
        let names = ["a", "b"].map(|name| format!("{folder}/{name}.jsonl"));
        let args = ["ingest", "-q", "--platform", "p", &folder];
        let write = |random: &mut Random| -> Vec<String> {
            let texts = names.iter().map(|name| {
                let text = random.measurement_lines(40).concat();
                place.write(name, &text);
                text
            });
            texts.collect()
        };
        let first = write(&mut random);
        let mut child = place.command(&args).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.next_below(500)));
        let _ = child.kill();
        child.wait().unwrap();
        // The same number of lines with other values.
        let second = write(&mut random);
        let again = place.tsql(&args);
        let has_rejects = second.iter().any(|text| text.contains("no record"));
        assert_eq!(again.code, Some(i32::from(has_rejects)), "{}", again.stderr);
        let known = place.rows(&format!(
            "SELECT count(*) FROM sources WHERE name LIKE '{folder}/%'"
        ));
        let both = known == ["4"];
        assert!(both || known == ["2"], "{known:?}");
        for ((name, first), second) in names.iter().zip(first).zip(second) {
            if both {
                let other = name.replace(".jsonl", "~2.jsonl");
                wanted.push((name.clone(), first));
                wanted.push((other, second));
            } else {
                wanted.push((name.clone(), second));
            }
        }
        if kill % 5 == 4 || kill + 1 == kills() {
            assert_exactly(&place, &wanted);
        }
    }
}

/// Makes all data files below a folder two hours older, as a changed clock does.
fn age(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            age(&path);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            let then = SystemTime::now() - Duration::from_secs(7200);
            // The file may be deleted already.
            let _ = std::fs::File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(then));
        }
    }
}

/// Runs writers and `optimize` during a `vacuum` that retains nothing. Returns the stored streams and the number of
/// failed ones.
fn beside_vacuum(place: &Place, aged: bool) -> (Vec<(String, String)>, u32) {
    let until = Instant::now() + Duration::from_secs(wanted("TSQL_TEST_SECONDS", 3));
    let over = AtomicBool::new(false);
    let (mut stored, mut failed) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let writer = |writer: u64| {
            let mut random = Random(writer);
            let (mut stored, mut failed) = (Vec::new(), 0);
            while Instant::now() < until {
                let name = format!("w{writer}-{}", stored.len() + failed as usize);
                let text = random.measurement_lines(6).concat();
                let args = [
                    "append",
                    "--stream",
                    &name,
                    "--platform",
                    "p",
                    "--input-format",
                    "measured",
                ];
                let ran = place.tsql_with_input(&args, text.as_bytes());
                if matches!(ran.code, Some(0 | 1)) {
                    stored.push((format!("streams/p/{name}.jsonl"), text));
                } else {
                    let known = [
                        "before its commit, so nothing was committed",
                        "not found",
                        "No such file",
                    ];
                    let known = known.iter().any(|known| ran.stderr.contains(known));
                    assert!(known, "{}", ran.stderr);
                    failed += 1;
                }
            }
            (stored, failed)
        };
        let writers = [1, 2].map(|number| scope.spawn(move || writer(number)));
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let ran = place.tsql(&["vacuum", "--retain", "0s"]);
                assert_eq!(ran.code, Some(0), "{}", ran.stderr);
                if aged {
                    age(&place.path().join(".tsql"));
                }
            }
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                place.tsql(&["optimize"]);
            }
        });
        for writer in writers {
            let (new, not) = writer.join().unwrap();
            stored.extend(new);
            failed += not;
        }
        over.store(true, Ordering::Relaxed);
    });
    (stored, failed)
}

#[test]
#[ignore = "full tier"]
fn vacuum_deletes_no_live_file_of_concurrent_writers() {
    for aged in [false, true] {
        let place = Place::new();
        place.ok(&["init"]);
        let (stored, failed) = beside_vacuum(&place, aged);
        eprintln!("{} streams stored, {failed} not", stored.len());
        assert!(!stored.is_empty());
        // Failed streams may be stored nevertheless.
        let found = "SELECT name, count(r.line) FROM files LEFT JOIN records AS r USING (source_id) GROUP BY name";
        let found = place.rows(found);
        for (name, text) in &stored {
            let count = text.lines().filter(|line| line.starts_with('{')).count();
            assert!(
                found.contains(&format!("{name},{count}")),
                "{name}: {count}"
            );
        }
        let checked = place.tsql(&["check"]);
        let left = checked.stderr.contains("was interrupted");
        assert!(checked.code == Some(0) || left, "{}", checked.stderr);
        place.ok(&["export", "--to", "back"]);
        for (name, text) in &stored {
            assert_eq!(
                place.read(&format!("back/{name}")),
                text.as_bytes(),
                "{name}"
            );
        }
    }
}

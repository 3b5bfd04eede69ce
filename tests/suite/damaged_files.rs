//! Damage of every kind in every kind of store file. Read commands return the same rows or name the file, and write
//! nothing. `check --repair` and another ingest restore all rows, or the repair reports the loss.
//!
//! `TSQL_TEST_DAMAGES` and `TSQL_TEST_SEED` select cases. `TSQL_TEST_DAMAGES=9999` runs all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use crate::metaschedule;
use crate::networks::{NETWORK, RELAY};
use crate::npz::{layout_file, npz, tile_file};
use crate::support::{Place, file_contents, log, wanted};

/// Default number of cases.
const USUAL: u64 = 4;

/// Tables that people write, which no ingested file contains.
const BY_PEOPLE: [&str; 2] = ["notes", "platform_facts"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Emptied,
    Cut,
    Removed,
    /// Another file of the same kind replaced the file.
    Replaced,
    Flipped,
    /// The file and another one of the same kind were exchanged.
    Swapped,
    /// A copy of the file has the name of a file that does not exist.
    Duplicated,
    /// The file has the name of a file that does not exist.
    Renamed,
}

const DAMAGES: [Damage; 8] = [
    Damage::Emptied,
    Damage::Cut,
    Damage::Removed,
    Damage::Replaced,
    Damage::Flipped,
    Damage::Swapped,
    Damage::Duplicated,
    Damage::Renamed,
];

/// Returns the ingested folders and files in their order.
fn inputs(place: &Place) -> Vec<Vec<String>> {
    let text = |text: &str| text.to_owned();
    let mut runs = Vec::new();
    for part in 0..4 {
        place.write(
            &format!("k80/{part}.json"),
            log(1 + part * 30, 40) + "no record\n",
        );
        runs.push(vec![
            format!("k80/{part}.json"),
            text("--platform"),
            text("k80"),
        ]);
    }
    let tile = |one: u32| (f64::from(one), f64::from(100 + one), 100.0);
    let tiles: Vec<_> = (0..60).map(tile).collect();
    place.write("tile/xla/valid/b_1.npz", npz(&tile_file(5, &tiles)));
    let run = |one: i8| ((one % 5, one % 7), f64::from(one) + 1000.0);
    let layouts: Vec<_> = (0..90).map(run).collect();
    place.write("layout/xla/random/train/a.npz", npz(&layout_file(&layouts)));
    runs.push(vec![text("tile")]);
    runs.push(vec![text("layout")]);
    let tiles =
        (0..30).map(|tile| metaschedule::record(tile % 2, 64 << (tile % 2), 1 + tile, "[0.5]"));
    place.write("db/database_tuning_record.json", tiles.collect::<String>());
    place.write("db/database_workload.json", metaschedule::workloads());
    place.write("info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
    runs.push(vec![text("db"), text("info")]);
    runs.push(vec![crate::graphnet::own().to_str().unwrap().to_owned()]);
    runs
}

fn ingest(place: &Place, runs: &[Vec<String>]) {
    for run in runs {
        let mut args = vec!["ingest", "-q"];
        args.extend(run.iter().map(String::as_str));
        let ran = place.tsql(&args);
        assert!(
            ran.code.is_some_and(|code| code < 2),
            "{args:?}: {}",
            ran.stderr
        );
    }
}

/// Returns the files below a folder with their bytes.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let found = file_contents(root).into_iter();
    found.map(|(name, bytes)| (name.into(), bytes)).collect()
}

fn write_all(root: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    let _ = std::fs::remove_dir_all(root);
    for (path, bytes) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Returns the table and kind of a file, or `None` for files outside of tables.
fn kind(path: &Path) -> Option<(String, &'static str)> {
    let text = path.to_str().unwrap();
    let (table, rest) = text.split_once('/')?;
    if table.starts_with('.') || rest.contains('#') {
        return None;
    }
    let kind = match rest {
        rest if rest.ends_with(".json") => "entry",
        rest if rest.ends_with(".checkpoint.parquet") => "checkpoint",
        rest if rest.ends_with("_last_checkpoint") => "last checkpoint",
        rest if rest.ends_with(".parquet") => "data",
        _ => return None,
    };
    Some((table.to_owned(), kind))
}

/// Returns a name that no file has: that of a log file of another version, or that of a data file with another number.
fn unused_name(files: &BTreeMap<PathBuf, Vec<u8>>, path: &Path, rng: &mut Rng) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let digits = name.find(|c: char| !c.is_ascii_digit())?;
    let version: Option<u64> = name[..digits].parse().ok();
    let mut names = (0..50).map(|_| match version {
        Some(version) => format!("{:020}{}", version + rng.u64(1..8), &name[digits..]),
        None => format!("{}{}", &name[..name.len() - 9], rng.u64(1000..9999)) + ".parquet",
    });
    let named = names.find_map(|name| {
        let other = path.with_file_name(name);
        (!files.contains_key(&other)).then_some(other)
    })?;
    (kind(path)?.1 != "last checkpoint").then_some(named)
}

/// Returns a damaged copy of the files, or `None` if nothing changed.
fn damaged_copy(
    sound: &BTreeMap<PathBuf, Vec<u8>>,
    path: &Path,
    damage: Damage,
    rng: &mut Rng,
) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = sound.clone();
    let bytes = &sound[path];
    let others = sound
        .keys()
        .filter(|other| *other != path && kind(other) == kind(path));
    let others: Vec<&PathBuf> = others.collect();
    match damage {
        Damage::Emptied => {
            files.insert(path.to_owned(), Vec::new());
        }
        Damage::Cut => {
            let end = rng.usize(1..bytes.len());
            files.insert(path.to_owned(), bytes[..end].to_vec());
        }
        Damage::Removed => {
            files.remove(path);
        }
        Damage::Replaced => {
            let other = sound[*rng.choice(&others)?].clone();
            files.insert(path.to_owned(), other);
        }
        Damage::Flipped => {
            let mut bytes = bytes.clone();
            let at = rng.usize(..bytes.len());
            bytes[at] ^= 1 << rng.u8(..8);
            files.insert(path.to_owned(), bytes);
        }
        Damage::Swapped => {
            let other = *rng.choice(&others)?;
            files.insert(path.to_owned(), sound[other].clone());
            files.insert(other.clone(), bytes.clone());
        }
        Damage::Duplicated | Damage::Renamed => {
            files.insert(unused_name(sound, path, rng)?, bytes.clone());
            if damage == Damage::Renamed {
                files.remove(path);
            }
        }
    }
    (files != *sound).then_some(files)
}

const ALL: &str = "SELECT (SELECT count(*) FROM records) AS a, (SELECT count(*) FROM lines) AS b, \
     (SELECT count(*) FROM runs) AS c, (SELECT count(*) FROM graphs) AS d, (SELECT count(*) FROM configurations) AS e, \
     (SELECT count(*) FROM samples) AS f, (SELECT count(*) FROM nodes) AS g, (SELECT count(*) FROM files) AS h, \
     (SELECT count(*) FROM network_tasks) AS i, (SELECT count(*) FROM relays) AS j, (SELECT count(*) FROM workloads) AS k, \
     (SELECT count(*) FROM texts) AS l, (SELECT count(*) FROM environments) AS m, (SELECT sum(runtime_ns) FROM records) AS n, \
     (SELECT count(*) FROM records JOIN configurations USING (config_id)) AS o, (SELECT count(*) FROM tasks) AS p";

/// Returns the words of the command in a hint.
fn shell_words(command: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (place, part) in command.split('"').enumerate() {
        match place % 2 {
            0 => parts.extend(part.split_whitespace().map(str::to_owned)),
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

#[test]
#[ignore = "full tier"]
#[allow(
    clippy::too_many_lines,
    reason = "one kind of file and damage after the other"
)]
fn damaged_store_files_are_named_and_repaired() {
    let (count, seed) = (
        wanted("TSQL_TEST_DAMAGES", USUAL),
        wanted("TSQL_TEST_SEED", 7),
    );
    eprintln!("TSQL_TEST_DAMAGES={count} TSQL_TEST_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let place = Place::new();
    let runs = inputs(&place);
    ingest(&place, &runs);
    place.ok(&["note", "add", "a note", "--platform", "k80"]);
    place.ok(&["platform", "set", "k80", "--cores", "13", "--source", "x"]);
    place.ok(&["optimize"]);
    // An ingest after the checkpoints.
    place.write("k80/last.json", log(500, 20));
    let last = vec![
        "k80/last.json".to_owned(),
        "--platform".to_owned(),
        "k80".to_owned(),
    ];
    let runs: Vec<_> = runs.into_iter().chain([last.clone()]).collect();
    ingest(&place, &[last]);
    place.ok(&["check"]);
    let store = place.path().join(".tsql");
    let sound = files(&store);
    let wanted = place.rows(ALL);
    let mut cases: Vec<(PathBuf, Damage)> = Vec::new();
    for path in sound.keys().filter(|path| kind(path).is_some()) {
        cases.extend(DAMAGES.map(|damage| (path.clone(), damage)));
    }
    rng.shuffle(&mut cases);
    let mut failures = Vec::new();
    let (mut done, mut silent, mut lost) = (0, 0, 0);
    for (path, damage) in cases {
        if done == count {
            break;
        }
        let Some(files_now) = damaged_copy(&sound, &path, damage, &mut rng) else {
            continue;
        };
        done += 1;
        write_all(&store, &files_now);
        let (table, kind) = kind(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let what = format!("{damage:?} {kind} {}", path.display());
        eprintln!("{what}");
        let mut fail =
            |reason: &str, text: &str| failures.push(format!("{what}: {reason}: {text}"));
        let panicked = |text: &str| text.contains("panicked");
        let read = place.tsql(&[&format!("SELECT count(*) FROM stored.{table}")]);
        let all = place.tsql(&[ALL]);
        let names_it = |text: &str| {
            let is_of_other = !matches!(
                damage,
                Damage::Emptied | Damage::Cut | Damage::Removed | Damage::Flipped
            );
            text.contains(name) || is_of_other
        };
        for ran in [&read, &all] {
            if panicked(&ran.stderr) {
                fail("panicked", &ran.stderr);
            } else if ran.code != Some(0)
                && (!names_it(&ran.stderr) || !ran.stderr.contains("hint: "))
            {
                fail("names neither the file nor a way out", &ran.stderr);
            }
        }
        let counted = all.stdout.lines().nth(1).map(str::to_owned);
        let is_same = counted.as_deref() == wanted.first().map(String::as_str);
        if all.code == Some(0) && !is_same {
            // Only a log that ends earlier is an earlier version.
            silent += 1;
            if kind != "entry" || !matches!(damage, Damage::Removed | Damage::Emptied | Damage::Cut)
            {
                fail("returns other rows", &all.stdout);
            }
        }
        if files(&store) != files_now {
            fail("a read command writes", "");
        }
        let checked = place.tsql(&["check"]);
        if panicked(&checked.stderr) {
            fail("check panicked", &checked.stderr);
        }
        if (read.code != Some(0) || all.code != Some(0))
            && (checked.code == Some(0)
                || !names_it(&checked.stderr)
                || !checked.stderr.contains("--repair"))
        {
            let is_lost = BY_PEOPLE.contains(&table.as_str()) && kind == "data";
            if !is_lost {
                fail(
                    "check names neither the file nor a way out",
                    &checked.stderr,
                );
            }
        }
        let repaired = place.tsql(&["check", "--repair"]);
        for line in repaired.stderr.lines() {
            let command = line
                .strip_prefix("hint: `tsql ")
                .and_then(|line| line.split_once('`'));
            if let Some((command, " completes the repair")) = command {
                let command = shell_words(command);
                let command: Vec<&str> = command.iter().map(String::as_str).collect();
                let ran = place.tsql(&command);
                if ran.code.is_none_or(|code| code > 1) {
                    fail(
                        "a hint does not work",
                        &format!("{command:?}: {}", ran.stderr),
                    );
                }
            }
        }
        let is_of_people = BY_PEOPLE.contains(&table.as_str());
        if repaired.stderr.contains("permanently lost") || is_of_people {
            lost += 1;
        }
        ingest(&place, &runs);
        let again = place.tsql(&["check"]);
        if again.code != Some(0) && !is_of_people {
            fail(
                "not sound after the repair",
                &format!("{}\n{}", repaired.stderr, again.stderr),
            );
        }
        let rows = place
            .tsql(&[ALL])
            .stdout
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>();
        if rows != wanted {
            fail(
                "other rows after the repair",
                &format!("{rows:?} {wanted:?}\n{}", repaired.stderr),
            );
        }
    }
    eprintln!("{done} cases, {silent} earlier versions, {lost} with losses");
    assert!(
        failures.is_empty(),
        "{} of {done}: {}",
        failures.len(),
        failures.join("\n")
    );
}

//! Publications: other readers, `verify`, rejected requests, and kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engines::{python, run};
use crate::metaschedule;
use crate::mixed_inputs;
use crate::npz::{layout_file, npz};
use crate::support::{Place, file_contents, log, shared, wanted};

/// Metadata that avoids all warnings of readers.
const DESCRIPTION: [&str; 12] = [
    "--title",
    "Own: \"all\" | sorts",
    "--license",
    "CC-BY-4.0",
    "--author",
    "Ada Lovelace",
    "--citation",
    "paper.bib",
    "--url",
    "https://example.org/data",
    "--version",
    "1.2.0",
];

/// Returns a store with files of all datasets, real ones if present, and platforms with unusual names.
fn store() -> Place {
    let place = mixed_inputs::tree();
    place.write("paper.bib", "@article{ada, title={Notes}}\n");
    place.write("tree/db/database_workload.json", metaschedule::workloads());
    let records = metaschedule::record(0, 8, 2, "0.5") + "\n";
    place.write("tree/db/database_tuning_record.json", records);
    place.write(
        "tree/logs/gpu test-1/three.json",
        log(20, 4) + "no record\n",
    );
    place.write("tree/logs/7452/four.json", log(30, 3));
    let layouts = npz(&layout_file(&[((0, 1), 10.0), ((1, -1), 12.0)]));
    place.write("tree/npz/layout/xla/random/train/net.npz", layouts);
    let ran = place.tsql(&["ingest", "-q", "tree"]);
    assert_eq!(ran.code, Some(1), "one line is none: {}", ran.stderr);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    place.ok(&["ingest", "-q", own.join("measured").to_str().unwrap()]);
    if let Some(shared) = shared() {
        // Other real files are large and similar.
        for real in [
            "tenset",
            "autotvm",
            "metaschedule/cpu-gmm-0.27",
            "graphnet/logs",
        ] {
            let real = shared.join("data").join(real);
            place.tsql(&["ingest", "-q", real.to_str().unwrap()]);
        }
    }
    let members = "SELECT path FROM samples ORDER BY path";
    place.ok(&["subset", "create", "some", "--query", members]);
    place
}

/// Publishes the store with all metadata.
fn publish(place: &Place, to: &str, more: &[&str]) {
    let args: Vec<&str> = ["publish", to]
        .into_iter()
        .chain(DESCRIPTION)
        .chain(more.iter().copied())
        .collect();
    place.ok(&args);
}

/// Reads the publication `out` with other tools, and compares it with results of the store. Returns the rows of each
/// table, and the report of the tools.
pub(crate) fn read_by_others(
    place: &Place,
    python: &PathBuf,
    store: &[&str],
) -> (BTreeMap<String, u64>, Value) {
    let mut counts = BTreeMap::new();
    fs::create_dir_all(place.path().join("answers")).unwrap();
    for entry in fs::read_dir(place.path().join("out")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            let table = entry.file_name().into_string().unwrap();
            let sql = format!("SELECT * FROM {table}");
            let answer = format!("answers/{table}.parquet");
            place.ok(&[store, &[&sql, "-o", &answer]].concat());
            let sql = format!("SELECT count(*) FROM {table}");
            let stdout = place.ok(&[store, &[&sql]].concat()).stdout;
            let rows = stdout.lines().nth(1).unwrap().parse::<u64>().unwrap();
            counts.insert(table, rows);
        }
    }
    let folder = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let folders = [&folder("out"), &folder("answers"), &folder("cache")];
    let report = run(python, "published.py", &folders.map(String::as_str));
    (counts, report)
}

#[test]
#[ignore = "full tier"]
fn other_tools_read_the_same_rows() {
    let Some(python) = python() else { return };
    let place = store();
    publish(&place, "out", &[]);
    let (counts, report) = read_by_others(&place, &python, &[]);
    for table in [
        "records",
        "configurations",
        "graphs",
        "nodes",
        "edges",
        "rejects",
        "tensors",
        "workloads",
        "sources",
    ] {
        assert!(counts.contains_key(table), "{table} of {counts:?}");
    }
    for table in ["source_segments", "files", "tags", "texts", "lines"] {
        assert!(
            !counts.contains_key(table),
            "{table} means nothing elsewhere"
        );
    }
    assert_eq!(
        report["warnings"],
        Value::Array(Vec::new()),
        "of mlcroissant"
    );
    let read: BTreeMap<String, u64> = serde_json::from_value(report["tables"].clone()).unwrap();
    assert_eq!(read, counts);
    let platforms = place.rows("SELECT platform, count(*) FROM records GROUP BY platform");
    for row in platforms {
        let (platform, records) = row.rsplit_once(',').unwrap();
        assert_eq!(
            report["platforms"][platform].to_string(),
            records,
            "{platform}"
        );
    }
    assert_eq!(
        report["pandas"]["edges.operand"], "Int64",
        "an id with gaps is no float"
    );
    let card = String::from_utf8(place.read("out/README.md")).unwrap();
    for line in [
        "pretty_name: \"Own: \\\"all\\\" | sorts\"",
        "license: cc-by-4.0",
        "  data_files: \"records/*/*/*.parquet\"",
        "| tenset | 7452 | 3 | 3 | 0 | 0 | 1 | 3 | 2023-11-14 | 2023-11-14 |",
        "@article{ada, title={Notes}}",
    ] {
        assert!(card.lines().any(|found| found == line), "{line} in {card}");
    }
}

#[test]
#[ignore = "full tier"]
fn a_version_is_always_published_with_the_same_bytes() {
    let place = store();
    place.ok(&["tag", "create", "v2.0"]);
    publish(&place, "out", &[]);
    let first = file_contents(&place.path().join("out"));
    // Other files with the same rows, and a smaller memory limit.
    place.ok(&["optimize", "--again"]);
    publish(&place, "out", &["--overwrite", "--memory-limit", "100MB"]);
    let second = file_contents(&place.path().join("out"));
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        second.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &first {
        assert!(bytes == &second[name], "{name}");
    }
    // A published tag has no later records, and its name is the version.
    place.write("later/k80/x.json", log(500, 30));
    place.ok(&["ingest", "-q", "later"]);
    let at: Vec<&str> = DESCRIPTION[..10].to_vec();
    let args: Vec<&str> = ["--at", "v2.0", "publish", "tagged"]
        .into_iter()
        .chain(at)
        .collect();
    place.ok(&args);
    let tagged = file_contents(&place.path().join("tagged"));
    let of_rows = |name: &&String| name.ends_with(".parquet");
    assert!(
        first
            .keys()
            .filter(of_rows)
            .eq(tagged.keys().filter(of_rows))
    );
    for name in first.keys().filter(of_rows) {
        assert!(first[name] == tagged[name], "{name}");
    }
    let card = String::from_utf8(tagged["README.md"].clone()).unwrap();
    assert!(card.contains("- Version: v2.0\n"), "{card}");
    let metadata: Value = serde_json::from_slice(&tagged["croissant.json"]).unwrap();
    assert_eq!(metadata["version"], "2.0");
}

#[test]
fn verify_finds_all_changes() {
    let place = Place::new();
    let publish = ["--sample", "publish", "out"];
    place.ok(&publish);
    let whole = place.ok(&["verify", "out"]);
    assert_eq!(whole.stdout, "");
    let sums = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(place.path().join("out"))
        .status();
    assert!(sums.unwrap().success());
    // Files that hosts and git add are hidden files.
    place.write("out/.gitattributes", "*.parquet filter=lfs\n");
    place.write("out/.git/HEAD", "ref: x\n");
    place.ok(&["verify", "out"]);
    let records = "out/records/tenset/epyc-1t/part-00000.parquet";
    let mut bytes = place.read(records);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    place.write(records, bytes);
    fs::remove_file(place.path().join("out/graphs/part-00000.parquet")).unwrap();
    place.write("out/notes.txt", "own notes");
    let damaged = place.tsql(&["verify", "out"]);
    assert_eq!(damaged.code, Some(1), "{}", damaged.stderr);
    let lines = "missing graphs/part-00000.parquet\n\
                 changed records/tenset/epyc-1t/part-00000.parquet\n\
                 additional notes.txt\n";
    assert_eq!(damaged.stdout, lines);
    place.write("out/SHA256SUMS", "no list\n");
    let wrong = place.tsql(&["verify", "out"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .stderr
            .contains("SHA256SUMS: line 1 is not a checksum"),
        "{}",
        wrong.stderr
    );
    let nothing = place.tsql(&["verify", "nowhere"]);
    assert_eq!(nothing.code, Some(2));
    assert!(
        nothing.stderr.contains("hint: `tsql publish`"),
        "{}",
        nothing.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn existing_files_are_not_overwritten() {
    let place = Place::new();
    place.write("mine/thesis.tex", "years of work");
    let assert_rejects = |args: &[&str], reason: &str| {
        let args: Vec<&str> = ["--sample", "publish"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let ran = place.tsql(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{args:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("hint: ") || reason.contains("file"),
            "{}",
            ran.stderr
        );
    };
    for more in [&["mine"][..], &["mine", "--overwrite"]] {
        assert_rejects(
            more,
            "contains files that do not belong to a publication of tsql: thesis.tex",
        );
    }
    assert_rejects(&["mine/thesis.tex"], "is a file, expected a directory");
    assert_rejects(&["memory:"], "exists only in this process");
    assert_rejects(
        &["out", "--license", "do what you want"],
        "not an SPDX license identifier",
    );
    assert_rejects(&["out", "--date", "today"], "not a date");
    assert!(
        !place.path().join("out").exists(),
        "rejected requests write nothing"
    );
    // A publication of several platforms, then one of another store.
    place.write("logs/a100/a.json", log(1, 5));
    place.write("logs/t4/b.json", log(1, 5));
    place.ok(&["ingest", "-q", "logs"]);
    place.ok(&["publish", "out"]);
    let again = place.tsql(&["publish", "out"]);
    assert_eq!(again.code, Some(2));
    assert!(
        again.stderr.contains("hint: --overwrite"),
        "{}",
        again.stderr
    );
    place.write("out/notes.txt", "own notes");
    let others = place.tsql(&["publish", "out", "--overwrite"]);
    assert!(others.stderr.contains("notes.txt"), "{}", others.stderr);
    fs::remove_file(place.path().join("out/notes.txt")).unwrap();
    place.ok(&["--sample", "publish", "out", "--overwrite"]);
    place.ok(&["verify", "out"]);
    assert!(
        !place
            .path()
            .join("out/records/tenset/a100/part-00000.parquet")
            .exists()
    );
    // Nothing to publish.
    place.ok(&["init", "--store", "empty"]);
    let empty = place.tsql(&["--store", "empty", "publish", "none"]);
    assert!(
        empty.stderr.contains("the store has no rows"),
        "{}",
        empty.stderr
    );
    assert!(!place.path().join("none").exists());
    let dry = place.ok(&["--sample", "publish", "dry", "--dry-run"]);
    assert!(dry.stdout.contains("records,480\n"), "{}", dry.stdout);
    assert!(!place.path().join("dry").exists());
}

/// A killed publication is invalid, and the next run completes it.
#[test]
#[ignore = "full tier"]
fn interrupted_publications_fail_verify_and_restart() {
    let place = Place::new();
    for platform in ["a100", "t4", "k80"] {
        place.write(&format!("logs/{platform}/a.json"), log(1, 900));
    }
    place.ok(&["ingest", "-q", "logs"]);
    let start = Instant::now();
    place.ok(&["publish", "whole", "--title", "t"]);
    let whole = file_contents(&place.path().join("whole"));
    let lasts = start.elapsed();
    let (mut broken_off, kills) = (0, wanted("TSQL_TEST_KILLS", 8));
    for kill in 0..kills {
        let signal = if kill % 2 == 0 { "-KILL" } else { "-INT" };
        let mut child = place
            .command(&["publish", "out", "--title", "t", "--overwrite"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(
            lasts * u32::try_from(kill + 1).unwrap() / u32::try_from(kills + 1).unwrap(),
        );
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        let killed = sent.unwrap().success();
        let status = child.wait().unwrap();
        if killed && !status.success() && place.path().join("out/.tsql-publishing").exists() {
            broken_off += 1;
            let verified = place.tsql(&["verify", "out"]);
            assert_eq!(
                verified.code,
                Some(2),
                "{}{}",
                verified.stdout,
                verified.stderr
            );
            assert!(
                verified.stderr.contains("was interrupted"),
                "{}",
                verified.stderr
            );
            // Without `--overwrite`.
            place.ok(&["publish", "out", "--title", "t"]);
        }
        if place.path().join("out/SHA256SUMS").exists() {
            place.ok(&["verify", "out"]);
            let out = file_contents(&place.path().join("out"));
            let all = out.keys().chain(whole.keys());
            // Partial files have names that listings ignore.
            let shown = all.filter(|name| !name.contains('#'));
            let differ: Vec<&String> = shown
                .filter(|name| out.get(*name) != whole.get(*name))
                .collect();
            assert_eq!(differ, Vec::<&String>::new(), "kill {kill}");
        }
    }
    assert!(
        broken_off > 0 || lasts < Duration::from_millis(100),
        "of {kills} kills in {lasts:?}"
    );
}

#[cfg(feature = "s3")]
#[test]
#[ignore = "full tier"]
fn publications_to_a_bucket_equal_those_to_a_folder() {
    let Some(server) = crate::weed::weed() else {
        return;
    };
    let (place, endpoint) = (Place::new(), server.endpoint());
    let (store, to) = (server.url(), server.url());
    place.write("logs/k80/a.json", log(1, 50));
    let ran = |args: &[&str]| place.s3(&endpoint, &store, args).output().unwrap();
    let ok = |args: &[&str]| {
        let output = ran(args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    ok(&["ingest", "-q", "logs"]);
    ok(&["publish", &to, "--title", "t"]);
    ok(&["verify", &to]);
    assert_eq!(
        ran(&["publish", &to, "--title", "t"]).status.code(),
        Some(2)
    );
    ok(&["publish", &to, "--title", "t", "--overwrite"]);
    // The bytes equal those of a folder.
    ok(&["publish", "out", "--title", "t"]);
    let key = to.split_once("s3://").unwrap().1.split_once('/').unwrap().1;
    server.put(&format!("{key}/SHA256SUMS"), &place.read("out/SHA256SUMS"));
    ok(&["verify", &to]);
    server.put(
        &format!("{key}/graphs/part-00000.parquet"),
        b"PAR1 of somebody else PAR1",
    );
    server.put(&format!("{key}/notes.txt"), b"own notes");
    let verified = ran(&["verify", &to]);
    assert_eq!(verified.status.code(), Some(1));
    let stdout = String::from_utf8(verified.stdout).unwrap();
    assert_eq!(
        stdout,
        "changed graphs/part-00000.parquet\nadditional notes.txt\n"
    );
    // A publication into a store is rejected.
    assert_eq!(
        ran(&["publish", &store, "--overwrite"]).status.code(),
        Some(2)
    );
}

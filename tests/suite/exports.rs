//! Exports: every file keeps its name, nothing is overwritten, and another ingest restores all attributes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::npz::{layout_file, npz, tile_file};
use crate::support::{Place, line, log};

fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

/// Returns the decompressed text of a file.
fn content(place: &Place, name: &str) -> String {
    let bytes = place.read(name);
    let mut text = String::new();
    match bytes.get(..2) {
        Some([0x1f, 0x8b]) => {
            let mut decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
            decoder.read_to_string(&mut text).unwrap();
        }
        Some([0x28, 0xb5]) => {
            let mut decoder = zstd::Decoder::new(&bytes[..]).unwrap();
            decoder.read_to_string(&mut text).unwrap();
        }
        _ => text = String::from_utf8(bytes).unwrap(),
    }
    text
}

#[test]
#[ignore = "full tier"]
fn duplicates_are_found_for_any_compression() {
    let text = log(1, 40);
    let half = log(1, 20);
    // A file of two compressed members, which decompressors concatenate.
    let members = [gzip(&half), gzip(&text[half.len()..])].concat();
    let files = [
        ("p/a.json", text.clone().into_bytes()),
        ("p/b.json.gz", gzip(&text)),
        ("p/c.json.gz", gzip(&text)),
        ("p/d.json.zst", zstd(&text)),
        ("p/e.json.gz", members),
        ("p/f.json", text.clone().into_bytes()),
    ];
    for (together, backwards) in [(true, false), (false, true)] {
        let place = Place::new();
        let mut names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        for (name, bytes) in &files {
            place.write(name, bytes);
        }
        if backwards {
            names.reverse();
        }
        let args = ["ingest", "--platform", "p"];
        if together {
            let ran = place.ok(&[&args[..], &names].concat());
            assert!(
                ran.stderr.contains("5 identical to another source"),
                "{}",
                ran.stderr
            );
        } else {
            for name in &names {
                place.ok(&[&args[..], &[name]].concat());
            }
        }
        assert_eq!(place.rows("SELECT count(*) FROM records"), ["40"]);
        assert_eq!(
            place.rows("SELECT count(*), count(same_as), count(compression) FROM sources"),
            ["6,5,4"]
        );
        let again = place.ok(&[&args[..], &names].concat()).stderr;
        assert!(again.contains("6 already ingested"), "{again}");
        place.ok(&["check"]);
        let stderr = place.ok(&["export", "--to", "back"]).stderr;
        assert!(stderr.contains("6 files"), "{stderr}");
        let recompressed = "4 of them were compressed again, so their compressed bytes may differ";
        assert!(stderr.contains(recompressed), "{stderr}");
        for (name, bytes) in &files {
            let name = name.replace("p/", "back/");
            assert_eq!(content(&place, &name), text, "{name}");
            assert_eq!(place.read(&name)[..2], bytes[..2], "{name}");
        }
    }
}

#[test]
fn two_names_of_a_broken_archive_are_stored_once() {
    let place = Place::new();
    let whole = gzip(&log(1, 400));
    for name in ["p/a.json.gz", "p/b.json.gz"] {
        place.write(name, &whole[..whole.len() - 20]);
    }
    let ran = place.tsql(&["ingest", "p"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("1 identical to another source"),
        "{}",
        ran.stderr
    );
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn a_grown_compressed_log_adds_only_new_lines() {
    for pack in [gzip, zstd] {
        let place = Place::new();
        place.write("p/a.json.gz", pack(&log(1, 30)));
        place.ok(&["ingest", "p"]);
        place.write("p/a.json.gz", pack(&log(1, 50)));
        let ran = place.ok(&["ingest", "p"]);
        assert!(ran.stderr.contains("1 grown"), "{}", ran.stderr);
        assert!(ran.stderr.contains("records          20"), "{}", ran.stderr);
        assert_eq!(
            place.rows("SELECT count(*), count(DISTINCT line), max(line) FROM records"),
            ["50,50,50"]
        );
        place.ok(&["check"]);
        place.ok(&["export", "--to", "back"]);
        assert_eq!(content(&place, "back/p/a.json.gz"), log(1, 50));
    }
}

#[test]
fn files_that_differ_only_in_compression_are_all_exported() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.write("p/a.json.gz", gzip(&log(10, 4)));
    place.write("p/a.json.zst", zstd(&log(20, 5)));
    place.ok(&["ingest", "p"]);
    let stderr = place.ok(&["export", "--to", "back"]).stderr;
    assert!(stderr.contains("3 files"), "{stderr}");
    assert_eq!(content(&place, "back/p/a.json"), log(1, 3));
    assert_eq!(content(&place, "back/p/a.json.gz"), log(10, 4));
    assert_eq!(content(&place, "back/p/a.json.zst"), log(20, 5));
}

/// Rows of a Parquet file may have arbitrary names.
#[test]
fn names_invalid_as_file_names_are_exported_under_others() {
    let place = Place::new();
    let rows = [
        ("'plain.txt'", "plain"),
        ("'a' || chr(0) || 'b'", "zero"),
        ("'f'", "a file"),
        ("'f/g'", "in a folder"),
        ("'x/../y'", "up"),
        ("'x/_/y'", "taken"),
        ("'/x//_/y'", "slashes"),
        ("repeat('n', 300)", "long"),
        ("'tsql-export.json'", "ours"),
        ("'.'", "nothing"),
    ];
    let rows = rows.map(|(name, text)| format!("SELECT {name} AS path, '{text}' AS content"));
    let sql = rows.join(" UNION ALL ");
    place.ok(&["init"]);
    place.ok(&[&sql, "--format", "parquet", "-o", "hub.parquet"]);
    place.ok(&["ingest", "hub.parquet"]);
    let stderr = place.ok(&["export", "--to", "back"]).stderr;
    assert!(stderr.contains("10 files"), "{stderr}");
    for (name, text) in [
        ("plain.txt", "plain"),
        ("a%00b", "zero"),
        ("f~2", "a file"),
        ("f/g", "in a folder"),
        ("x/_/y", "taken"),
        ("tsql-export~2.json", "ours"),
        ("_", "nothing"),
    ] {
        assert_eq!(content(&place, &format!("back/{name}")), text, "{name}");
    }
    assert!(stderr.contains("a\\u{0}b: written as a%00b"), "{stderr}");
    assert!(stderr.contains("f: written as f~2"), "{stderr}");
    let mut others: Vec<String> = ["back/x/_/y~2", "back/x/_/y~3"]
        .map(|name| content(&place, name))
        .to_vec();
    others.sort();
    assert_eq!(others, ["slashes", "up"]);
    let long = fs::read_dir(place.path().join("back")).unwrap().flatten();
    let mut long = long.filter(|entry| entry.file_name().to_string_lossy().starts_with("nnn"));
    assert_eq!(
        fs::read_to_string(long.next().unwrap().path()).unwrap(),
        "long"
    );
    // Another ingest restores their attributes.
    let names = "SELECT name, platform, size_bytes FROM sources ORDER BY name";
    let before = place.rows(names);
    place.ok(&["init", "again"]);
    place.ok(&["ingest", "back", "--store", "again"]);
    let after = place.ok(&[names, "--store", "again"]).stdout;
    assert_eq!(after.lines().skip(1).collect::<Vec<_>>(), before);
}

#[test]
fn existing_files_are_not_overwritten_by_default() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.write("p/b.json", log(10, 3));
    place.write("p/c.json.gz", gzip(&log(20, 3)));
    place.write("p/d.npz", npz(&tile_file(5, &[(0.0, 100.0, 100.0)])));
    place.ok(&["ingest", "p"]);
    let to = ["export", "--to", "back"];
    place.ok(&to);
    // A repeated export, and one over the ingested files, leave all files unchanged.
    let again = place.ok(&to).stderr;
    assert!(again.contains("4 of them already existed"), "{again}");
    let original = place.read("p/c.json.gz");
    place.ok(&["export", "--to", "."]);
    assert_eq!(place.read("p/c.json.gz"), original);

    place.write("back/p/a.json", "mine");
    fs::remove_file(place.path().join("back/p/b.json")).unwrap();
    fs::create_dir(place.path().join("back/p/b.json")).unwrap();
    fs::remove_file(place.path().join("back/p/c.json.gz")).unwrap();
    let ran = place.tsql(&to);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for message in [
        "p/a.json: another file already exists at back/p/a.json",
        "p/b.json: a folder already exists at back/p/b.json",
        "hint: --overwrite",
        "2 files not written",
    ] {
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
    assert_eq!(place.read("back/p/a.json"), b"mine");
    assert_eq!(content(&place, "back/p/c.json.gz"), log(20, 3));
    fs::remove_dir(place.path().join("back/p/b.json")).unwrap();
    place.ok(&[&to[..], &["--overwrite"]].concat());
    assert_eq!(content(&place, "back/p/a.json"), log(1, 3));
    assert_eq!(content(&place, "back/p/b.json"), log(10, 3));
}

#[test]
fn a_changed_file_that_did_not_grow_is_reported() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p"]);
    place.write("p/a.json", log(5, 3));
    let ran = place.ok(&["ingest", "p"]);
    let expected =
        "p/a.json: the store has another source of this name; this one is stored as p/a~2.json";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    // Known files are not reported again.
    let again = place.ok(&["ingest", "p"]).stderr;
    assert!(!again.contains("another source"), "{again}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_exported_unchanged() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let names: [&[u8]; 4] = [
        b"b\xe4r.json",
        b"b\xc4r.json",
        b"b%E4r.json",
        b"100%25.json",
    ];
    let path = |folder: &str, name: &[u8]| place.path().join(folder).join(OsStr::from_bytes(name));
    fs::create_dir(place.path().join("p")).unwrap();
    for (number, name) in (0..).zip(names) {
        fs::write(path("p", name), log(1 + number * 10, 2)).unwrap();
    }
    place.ok(&["ingest", "p"]);
    assert_eq!(
        place.rows("SELECT name FROM sources ORDER BY name"),
        [
            "p/100%25.json",
            "p/b%25E4r.json",
            "p/b%C4r.json",
            "p/b%E4r.json"
        ]
    );
    place.ok(&["export", "--to", "back"]);
    for name in names {
        let back = fs::read(path("back/p", name)).unwrap();
        assert_eq!(back, fs::read(path("p", name)).unwrap());
    }
    let again = place.ok(&["ingest", "back"]).stderr;
    assert!(again.contains("4 already ingested"), "{again}");
}

#[test]
fn an_empty_export_is_reported() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p"]);
    for (args, expected) in [
        (
            vec!["--to", "x", "--where", "path = 'p/a.json'"],
            "no GraphNet sample matches `path = 'p/a.json'`",
        ),
        (
            vec!["--to", "x", "--source", "q/*"],
            "no source matches `q/*`",
        ),
        (
            vec!["--format", "tenset", "--where", "line > 99"],
            "no record matches `line > 99`",
        ),
        (
            vec!["--format", "graphnet", "--where", "path = 'x'"],
            "no GraphNet sample matches",
        ),
    ] {
        let ran = place.tsql(&[&["export"], args.as_slice()].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    assert!(!place.path().join("x").exists());
}

/// Returns all columns of all records and sources.
fn all_rows(place: &Place, store: &str) -> Vec<String> {
    let records = "SELECT dataset, platform, collection, split, graph_id, runtime_ns, min_ns, repeat_count, \
        error_no, error_message, baseline_ns, measured_at, environment_id, source_id, line, flags \
        FROM records ORDER BY source_id, line";
    let sources = "SELECT source_id, dataset, platform, name, collection, split, id, compression, line_count, \
        record_count, other_count, sample_id, labels FROM source_segments ORDER BY source_id, segment";
    let mut found = Vec::new();
    for sql in [records, sources] {
        found.push(place.ok(&[sql, "--store", store]).stdout);
    }
    found
}

/// Returns a store with sources of every kind, each with a label `night`. Only the export list contains their
/// platforms.
pub(crate) fn place_of_all_kinds() -> Place {
    let place = Place::new();
    let measured = |first: u32| -> String {
        let lines = (first..first + 4).map(|tile| {
            format!("{{\"workload_key\": [\"mm\", 8], \"steps\": {{\"T\": {tile}}}, \"repeats_ns\": [{tile}00.5, 7]}}\n")
        });
        lines.collect()
    };
    place.write("logs/a.json", log(1, 3));
    place.write(
        "logs/b.json.gz",
        gzip(&(log(20, 3) + "# a comment\nno record\n")),
    );
    place.write("logs/c.json.zst", zstd(&log(1, 3)));
    place.write("logs/only.json", "# nothing but a comment\n");
    place.write("mine/m.jsonl", measured(1));
    place.tsql(&["ingest", "logs", "--platform", "k80", "--label", "night=1"]);
    let t4 = ["--platform", "t4", "--label", "night=2", "--label", "by=me"];
    place.ok(&[&["ingest", "logs/a.json"], &t4[..]].concat());
    place.tsql(&[&["ingest", "logs/only.json"], &t4[..]].concat());
    place.ok(&[
        "ingest",
        "mine",
        "--platform",
        "epyc-1t",
        "--label",
        "night=3",
    ]);
    let append = [
        "append",
        "--stream",
        "s",
        "--platform",
        "night",
        "--input-format",
        "measured",
        "--label",
        "night=4",
    ];
    let ran = place.tsql_with_input(&append, measured(50).as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let tile = npz(&tile_file(5, &[(0.0, 100.0, 100.0), (1.0, 90.0, 100.0)]));
    place.write("t/tile/xla/valid/k.npz", tile);
    place.write(
        "l/layout/xla/random/train/g.npz",
        npz(&layout_file(&[((0, 1), 1000.0)])),
    );
    let one = "t/tile/xla/valid/k.npz";
    place.ok(&["ingest", one, "--platform", "tpu-x", "--label", "night=5"]);
    place.ok(&["ingest", "l", "--label", "night=6"]);
    let own = crate::graphnet::own();
    let samples = own.join("samples").to_str().unwrap().to_owned();
    let runs = own.join("logs/run.log").to_str().unwrap().to_owned();
    place.ok(&["ingest", &samples, "--label", "night=7"]);
    place.ok(&["ingest", &runs, "--platform", "here", "--label", "night=8"]);
    let hub = "SELECT 'loose.txt' AS path, 'loose' AS content, 'folder' AS source_folder";
    place.ok(&[hub, "--format", "parquet", "-o", "hub.parquet"]);
    place.ok(&["ingest", "hub.parquet", "--label", "night=9"]);
    place
}

#[test]
#[ignore = "full tier"]
fn exported_files_are_ingested_with_their_attributes() {
    let place = place_of_all_kinds();
    let before = all_rows(&place, ".tsql");
    assert!(
        before[0].contains("night") && before[0].contains("tpu-x"),
        "{before:?}"
    );
    place.ok(&["export", "--to", "back"]);
    // An ingest into the same store adds nothing.
    let same = place.tsql(&["ingest", "back"]).stderr;
    assert!(same.contains("files            0 ("), "{same}");
    assert_eq!(all_rows(&place, ".tsql"), before);
    // Ingests into a new store: the whole export, and file by file from another folder.
    place.ok(&["init", "new"]);
    let ran = place.tsql(&["ingest", "back", "--store", "new"]);
    assert!(
        ran.stderr.contains("ingested as tsql-export.json states"),
        "{}",
        ran.stderr
    );
    assert_eq!(all_rows(&place, "new"), before);
    place.ok(&["check", "--store", "new"]);
    fs::rename(place.path().join("back"), place.path().join("moved")).unwrap();
    place.ok(&["init", "one"]);
    let one = ["ingest", "moved/logs/b.json.gz", "--store", "one"];
    assert_eq!(place.tsql(&one).code, Some(1));
    let platforms = "SELECT DISTINCT platform FROM records";
    assert_eq!(
        place.ok(&[platforms, "--store", "one"]).stdout,
        "platform\nk80\n"
    );
    // A second round: the list of an export of an export.
    place.ok(&["export", "--to", "third", "--store", "new"]);
    assert_eq!(
        place.read("third/tsql-export.json"),
        place.read("moved/tsql-export.json")
    );
}

#[test]
fn a_requested_platform_overrides_the_export_list() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "p"]);
    place.ok(&["export", "--to", "back"]);
    place.ok(&["init", "new"]);
    let ran = place.ok(&["ingest", "back", "--platform", "q", "--store", "new"]);
    assert!(
        ran.stderr.contains("tsql-export.json states platform `p`")
            && ran.stderr.contains("ingested as `q`"),
        "{}",
        ran.stderr
    );
    let platforms = "SELECT DISTINCT platform FROM records";
    assert_eq!(
        place.ok(&[platforms, "--store", "new"]).stdout,
        "platform\nq\n"
    );
}

#[test]
fn an_invalid_export_list_is_reported_before_reading() {
    let place = Place::new();
    place.write("back/p/a.json", log(1, 3));
    for (text, expected) in [
        ("{", "invalid list of exported files"),
        ("{\"tsql_export\": 9, \"files\": []}", "9"),
    ] {
        place.write("back/tsql-export.json", text);
        let ran = place.tsql(&["ingest", "back"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

/// The list of a second partial export contains the files of both.
#[test]
fn exports_into_one_folder_share_their_list() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.write("q/b.json", log(9, 3));
    place.ok(&["ingest", "p", "q"]);
    place.ok(&["export", "--to", "back", "--source", "p/*"]);
    place.ok(&["export", "--to", "back", "--source", "q/*"]);
    let list: serde_json::Value =
        serde_json::from_slice(&place.read("back/tsql-export.json")).unwrap();
    let files = list["files"].as_array().unwrap();
    let files: BTreeMap<&str, &str> = files
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap(),
                file["platform"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        files,
        BTreeMap::from([("p/a.json", "p"), ("q/b.json", "q")])
    );
}

/// A grown GraphNet log has two rows in the ingest log, and each run once.
#[test]
#[ignore = "full tier"]
fn runs_of_a_grown_log_count_once() {
    let text = fs::read_to_string(crate::graphnet::own().join("logs/run.log")).unwrap();
    let second = text.match_indices("[Processing]").nth(2).unwrap().0;
    let cut = text[..second].rfind('\n').unwrap() + 1;
    let place = Place::new();
    place.write("logs/run.log", &text[..cut]);
    place.ok(&["ingest", "logs"]);
    place.write("logs/run.log", &text);
    place.ok(&["ingest", "logs"]);
    assert_eq!(place.rows("SELECT count(*) FROM source_segments"), ["2"]);
    assert_eq!(
        place.rows("SELECT name, segments FROM sources"),
        ["logs/run.log,2"]
    );
    let scores = place.ok(&["queries", "graphnet-scores"]).stdout;
    let whole = Place::new();
    whole.write("logs/run.log", &text);
    whole.ok(&["ingest", "logs"]);
    assert_eq!(scores, whole.ok(&["queries", "graphnet-scores"]).stdout);
    if cfg!(feature = "plot") {
        for place in [&place, &whole] {
            place.ok(&["report", "graphnet", "--to", "report"]);
        }
        assert_eq!(
            place.read("report/scores.csv"),
            whole.read("report/scores.csv")
        );
    }
    // No query or source of tsql joins rows of the ingest log as files.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["queries", "src", "schemas"] {
        let mut folders = vec![root.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                // Tests join rows of the ingest log on purpose.
                if entry.file_name() == "tests.rs" {
                    continue;
                }
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                for joined in [
                    "JOIN source_segments",
                    "JOIN stored.source_segments",
                    "JOIN stored.sources",
                ] {
                    assert!(
                        !text.contains(joined),
                        "{}: {joined}",
                        entry.path().display()
                    );
                }
            }
        }
    }
}

/// A plain file and a compressed one of the same lines. The compressed one then grows.
#[test]
fn equal_lines_count_once_in_every_container() {
    let place = Place::new();
    place.write("p/a.json", line(1, "0.5"));
    place.write("p/a.json.gz", gzip(&line(1, "0.5")));
    place.ok(&["ingest", "p"]);
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["1"]);
    place.assert_sound(&["p/a.json"]);
}

/// Returns the names below a folder, with hidden and temporary files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
#[ignore = "full tier"]
fn an_export_that_fails_or_is_killed_leaves_no_temporary_files() {
    let place = Place::new();
    place.write("p/a.json", log(0, 2000));
    place.ok(&["ingest", "-q", "p"]);
    // A limit of 8 KiB per file, in blocks of 512 bytes.
    let script = "ulimit -f 16; exec \"$0\" export --to back";
    let limited = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
        .current_dir(place.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&limited.stderr);
    assert_eq!(limited.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("p/a.json: ") && stderr.contains("File too large"),
        "{stderr}"
    );
    assert_eq!(names(&place.path().join("back")), ["p"]);
    assert!(names(&place.path().join("back/p")).is_empty());
    // The next export deletes leftovers of a killed one.
    let mut child = place.command(&["export", "--to", "back"]).spawn().unwrap();
    let back = place.path().join("back");
    let is_started = || {
        names(&back)
            .iter()
            .any(|name| back.join(name).join("lock").exists())
    };
    while !is_started() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.ok(&["export", "--to", "back", "--overwrite"]);
    assert_eq!(names(&back), ["p", "tsql-export.json"]);
    assert_eq!(names(&back.join("p")), ["a.json"]);
}

#[test]
fn exports_into_store_tables_are_rejected() {
    let place = Place::new();
    place.write("p/a.json", log(0, 3));
    place.ok(&["ingest", "-q", "p"]);
    let before = names(&place.path().join(".tsql"));
    for target in [".tsql", ".tsql/records", ".tsql/records/new/back"] {
        for args in [
            vec!["export".to_owned(), "--to".to_owned(), target.to_owned()],
            vec![format!("COPY (SELECT 1 AS a) TO '{target}/x.csv'")],
        ] {
            if args.len() == 1 && target == ".tsql" {
                continue;
            }
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let ran = place.tsql(&args);
            assert_ne!(ran.code, Some(0), "{args:?}");
            let expected = "it belongs to the store `";
            assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        }
    }
    assert_eq!(names(&place.path().join(".tsql")), before);
    assert!(!place.path().join(".tsql/records/new").exists());
    place.ok(&["export", "--to", "back"]);
    place.ok(&["COPY (SELECT 1 AS a) TO 'x.csv'"]);
}

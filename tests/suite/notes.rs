//! Notes about records, files and platforms, and where they are shown.

use std::process::Stdio;

use crate::support::{Place, log};

/// Returns a store of two files of a platform and one of another. Each tile has a record of 1,000,000 + 1,000 *
/// tile ns. The first file has a second name.
fn store() -> Place {
    let place = Place::new();
    place.write("logs/k80/a.json", log(1, 4));
    place.write("logs/k80/b [1].json", log(10, 3));
    place.write("logs/t4/c.json", log(20, 2));
    place.ok(&["ingest", "-q", "logs"]);
    place.write("more/k80/again.json", log(1, 4));
    place.ok(&["ingest", "-q", "more"]);
    place
}

fn add(place: &Place, args: &[&str]) -> String {
    place.ok(&[&["note", "add"], args].concat()).stderr
}

/// Returns the ids of the notes in a list.
fn listed_ids(place: &Place, args: &[&str]) -> String {
    let list = place.ok(&[&["note", "list", "--format", "tsv"], args].concat());
    let rows = list.stdout.lines().skip(1);
    let numbers = rows.map(|row| row.split('\t').next().unwrap());
    numbers.collect::<Vec<_>>().join(" ")
}

/// All notes with their targets.
const ALL: &str = "SELECT note_id, note, n.platform, name, n.record_count FROM notes AS n \
    LEFT JOIN files USING (source_id) ORDER BY note_id, target";

#[test]
#[ignore = "full tier"]
fn notes_apply_to_existing_records() {
    let place = store();
    let slow = "runtime_ns > 1011500 -- tile 12, 20, 21";
    let stderr = add(
        &place,
        &["the fan was broken", "--where", slow, "--author", "ann"],
    );
    assert_eq!(
        stderr,
        format!("note 1 on 2 sources where {slow}, 3 records\n")
    );
    // A name may contain pattern characters. Notes on other names of the same bytes apply to their records.
    let stderr = add(&place, &["locked", "--source", "logs/k80/b [1].json"]);
    assert_eq!(stderr, "note 2 on logs/k80/b [1].json, 3 records\n");
    add(&place, &["twice", "--source", "more/*"]);
    place.ok(&["tag", "create", "three"]);
    let stderr = add(&place, &["shared", "--platform", "k80", "--who", " "]);
    assert_eq!(stderr, "note 4 on platform k80, 7 records\n");
    let all = [
        "1,the fan was broken,,logs/k80/b [1].json,1",
        "1,the fan was broken,,logs/t4/c.json,2",
        "2,locked,,logs/k80/b [1].json,3",
        "3,twice,,logs/k80/a.json,4",
        "4,shared,k80,,7",
    ];
    assert_eq!(place.rows(ALL), all);
    let authors = "SELECT DISTINCT note_id, author, predicate FROM notes ORDER BY note_id";
    assert_eq!(
        place.rows(authors),
        [&format!("1,ann,\"{slow}\""), "2,,", "3,,", "4,,"]
    );
    let noted = "SELECT count(*) FROM records WHERE source_id IN (SELECT source_id FROM notes WHERE note_id = 1) \
        OR platform IN (SELECT platform FROM notes WHERE note_id = 4)";
    assert_eq!(place.rows(noted), ["9"]);
    // A note on a platform is listed for its files, and a note on a file for its platform.
    assert_eq!(listed_ids(&place, &[]), "1 2 3 4");
    assert_eq!(listed_ids(&place, &["--platform", "t4"]), "1");
    assert_eq!(listed_ids(&place, &["--platform", "k80"]), "1 2 3 4");
    assert_eq!(
        listed_ids(&place, &["--source", "more/k80/again.json"]),
        "3 4"
    );
    assert_eq!(
        listed_ids(&place, &["--where", "runtime_ns = 1021000"]),
        "1"
    );
    // Notes do not apply to later records.
    place.write("logs/t4/late.json", log(30, 2));
    place.write("logs/t4/c.json", log(20, 3));
    place.ok(&["ingest", "-q", "logs"]);
    assert_eq!(place.rows(ALL), all);
    place.assert_sound(&["logs/k80/b [1].json", "logs/t4/c.json"]);
    // Deleted notes remain in earlier versions, and ids are not reused.
    for note in ["4", "1"] {
        place.ok(&["note", "delete", note]);
    }
    assert_eq!(place.rows(ALL), all[2..4]);
    let then = place
        .ok(&["--at", "three", "note", "list", "--format", "tsv"])
        .stdout;
    assert_eq!(then.lines().count(), 4, "{then}");
    let stderr = add(&place, &["again", "--platform", "t4"]);
    let number: u64 = stderr.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(number > 4, "{stderr}");
    place.ok(&["optimize", "--again"]);
    assert_eq!(listed_ids(&place, &[]), format!("2 3 {number}"));
    place.assert_sound(&["logs/t4/late.json"]);
    let history = place.ok(&["history"]).stdout;
    assert!(
        history.contains(",notes,") && history.contains("delete note 4"),
        "{history}"
    );
    let diff = place.ok(&["diff", "three", "--format", "csv"]).stdout;
    assert!(diff.contains("\nnotes,,4,3,1,2\n"), "{diff}");
}

#[test]
fn the_author_defaults_to_the_user() {
    let place = store();
    let mut command = place.command(&["note", "add", "x", "--platform", "t4"]);
    assert!(
        command
            .env("USER", "bob")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(
        place.rows("SELECT author, platform, record_count FROM notes"),
        ["bob,t4,2"]
    );
}

#[test]
#[ignore = "full tier"]
fn invalid_notes_are_reported_and_change_nothing() {
    let place = store();
    let long = "x".repeat(10_001);
    for (args, wanted) in [
        (
            vec!["x"],
            "a note needs a subject\nhint: --where SQL, --source PATTERN or --platform NAME",
        ),
        (vec!["", "--platform", "k80"], "a note needs a text"),
        (vec![" \n", "--platform", "k80"], "a note needs a text"),
        (vec![&long, "--platform", "k80"], "at most 10000 characters"),
        (
            vec!["x", "--platform", "k8"],
            "no platform named `k8`\nhint: there are k80, t4",
        ),
        (
            vec!["x", "--source", "logs/b"],
            "no source named `logs/b`\nhint: there are logs/k80/b [1].json\n",
        ),
        (
            vec!["x", "--source", "z*"],
            "no source named `z*`\nhint: there are logs/k80/a.json, logs/k80/b [1].json,",
        ),
        (vec!["x", "--source", "***"], "`***` is not a valid pattern"),
        (
            vec!["x", "--where", "runtime_ns < 0"],
            "no record matches `runtime_ns < 0`\nhint: ",
        ),
        (
            vec!["x", "--where", "runtime < 0"],
            "no column named `runtime`",
        ),
        (
            vec!["x", "--where", "runtime_ns <"],
            "expected an expression",
        ),
        (vec!["x", "--where", ""], "expected an expression"),
        (
            vec!["x", "--where", "true", "--platform", "k80"],
            "cannot be used with",
        ),
    ] {
        let ran = place.tsql(&[&["note", "add"], &args[..]].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(listed_ids(&place, &[]), "");
    assert_eq!(place.rows("SELECT count(*) FROM notes"), ["0"]);
    let ran = place.tsql(&["note", "delete", "1"]);
    assert_eq!(
        (ran.code, &*ran.stderr),
        (
            Some(2),
            "error: no note named `1`\nhint: there are none yet\n"
        )
    );
    add(&place, &["x", "--platform", "k80"]);
    let ran = place.tsql(&["note", "delete", "2"]);
    assert_eq!(
        (ran.code, &*ran.stderr),
        (Some(2), "error: no note named `2`\nhint: there are 1\n")
    );
    for args in [
        &["note", "add", "y", "--platform", "k80"][..],
        &["note", "delete", "1"],
    ] {
        let ran = place.tsql(&[&["--at", "records@1"], args].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    }
    assert_eq!(listed_ids(&place, &[]), "1");
    assert_eq!(
        place.tsql(&["--store", "none", "note", "list"]).code,
        Some(2)
    );
}

/// Table output shows notes with the data. Formats for programs do not contain them.
#[test]
#[ignore = "full tier"]
fn notes_are_shown_with_tables_and_queries() {
    let place = store();
    let table = |args: &[&str]| place.ok(&[args, &["--format", "table"]].concat()).stderr;
    assert_eq!(table(&["tables"]), "");
    add(
        &place,
        &[
            "the fan\u{1b}[2J was broken",
            "--platform",
            "k80",
            "--author",
            "ann",
        ],
    );
    add(
        &place,
        &[&"long ".repeat(100), "--source", "logs/t4/c.json"],
    );
    let day = &place.rows("SELECT CAST(min(noted_at) AS VARCHAR) FROM notes")[0][..10];
    let stderr = table(&["tables"]);
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(
        lines[0].starts_with("note 2 on logs/t4/c.json: long long "),
        "{stderr}"
    );
    assert!(
        lines[0].ends_with(&format!("... ({day})")) && lines[0].len() < 220,
        "{stderr}"
    );
    let fan =
        |name: &str| format!("note 1 on platform k80: the fan{name}[2J was broken (ann, {day})");
    assert_eq!(lines[1], fan("\\u{1b}"));
    assert_eq!(table(&["queries", "platform-summary"]), stderr);
    let of_k80 = table(&["queries", "best-program-per-graph", "--set", "platform=k80"]);
    assert_eq!(of_k80.lines().collect::<Vec<_>>(), lines[1..]);
    let of_t4 = table(&["queries", "best-program-per-graph", "--set", "platform=t4"]);
    assert_eq!(of_t4.lines().collect::<Vec<_>>(), lines[..1]);
    for more in 0..5 {
        add(&place, &[&format!("more {more}"), "--platform", "t4"]);
    }
    let stderr = table(&["tables"]);
    assert!(
        stderr.ends_with("\n... and 2 notes more: `tsql note list`\n"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 6, "{stderr}");
    for format in ["csv", "json", "jsonl", "arrow"] {
        assert_eq!(
            place.ok(&["tables", "--format", format]).stderr,
            "",
            "{format}"
        );
    }
    assert_eq!(place.ok(&["queries", "sources"]).stderr, "");
    assert_eq!(
        place
            .ok(&["tables", "--format", "table", "-o", "t.txt"])
            .stderr,
        ""
    );
}

#[test]
#[ignore = "full tier"]
fn concurrent_notes_are_all_stored() {
    let place = store();
    let children: Vec<_> = (0..8)
        .map(|note| {
            let text = format!("note of {note}");
            let mut command = place.command(&["note", "add", &text, "--where", "true"]);
            command.stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let counts = "SELECT count(DISTINCT note_id), count(DISTINCT note), count(*), sum(record_count) FROM notes";
    assert_eq!(place.rows(counts), ["8,8,24,72"]);
    place.assert_sound(&["logs/k80/a.json"]);
}

#[test]
fn older_stores_accept_notes() {
    let place = Place::new();
    let packed = include_bytes!("../stores/records-version-3.tar.zst");
    let tar = zstd::stream::read::Decoder::new(&packed[..]).unwrap();
    tar::Archive::new(tar).unpack(place.path()).unwrap();
    assert_eq!(listed_ids(&place, &[]), "");
    assert!(add(&place, &["old", "--where", "true"]).starts_with("note 1 on "));
    assert_eq!(listed_ids(&place, &["--source", "*"]), "1");
    place.assert_sound(&[]);
}

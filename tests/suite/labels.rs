//! Labels of sources: every kind of ingest accepts them, and queries filter by them.

use std::fs;

use crate::exports::place_of_all_kinds;
use crate::support::{Place, log};

/// Key and value of all labels, by source name.
const ALL: &str =
    "SELECT name, key, value FROM labels JOIN files USING (source_id) ORDER BY name, key";

/// Returns the number of records with a label.
fn records(place: &Place, label: &str) -> Vec<String> {
    let (key, value) = label.split_once('=').unwrap();
    place.rows(&format!(
        "SELECT count(*) FROM records WHERE source_id IN \
         (SELECT source_id FROM labels WHERE key = '{key}' AND value = '{value}')"
    ))
}

#[test]
#[ignore = "full tier"]
fn labels_of_every_kind_of_source_round_trip() {
    let place = place_of_all_kinds();
    let of_nights = "SELECT value, count(*) > 0, min(dataset) FROM labels JOIN files USING (source_id) \
        WHERE key = 'night' GROUP BY value ORDER BY value";
    let nights = [
        "1,true,tenset",
        "2,true,tenset",
        "3,true,measured",
        "4,true,measured",
        "5,true,tpugraphs",
        "6,true,tpugraphs",
        "7,true,graphnet",
        "8,true,graphnet",
        "9,true,graphnet",
    ];
    assert_eq!(place.rows(of_nights), nights);
    let without = "SELECT name FROM files WHERE source_id NOT IN (SELECT source_id FROM labels)";
    assert_eq!(place.rows(without), [""; 0]);
    assert_eq!(records(&place, "night=3"), ["4"]);
    assert_eq!(records(&place, "night=3 "), ["0"]);
    assert_eq!(
        place.rows("SELECT count(*) FROM labels WHERE key = 'by' AND value = 'me'"),
        ["2"]
    );
    let all = place.rows(ALL);
    place.ok(&["optimize", "--again"]);
    place.ok(&["check"]);
    assert_eq!(place.rows(ALL), all);
    // Labels of the command override labels of the export list.
    place.ok(&["export", "--to", "back"]);
    let place = Place {
        folder: place.folder,
    };
    fs::rename(place.path().join(".tsql"), place.path().join("old")).unwrap();
    let again = [
        "ingest",
        "-q",
        "back",
        "--label",
        "night=10",
        "--label",
        "from=back",
    ];
    assert_eq!(place.tsql(&again).code, Some(1), "a line is rejected");
    let keys = "SELECT key, count(DISTINCT value), count(*) = (SELECT count(*) FROM files) FROM labels \
        GROUP BY key ORDER BY key";
    assert_eq!(
        place.rows(keys),
        ["by,1,false", "from,1,true", "night,1,true"]
    );
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn a_growing_file_retains_labels_and_gets_new_values() {
    let place = Place::new();
    let ingest = |labels: &[&str]| {
        let options = labels.iter().flat_map(|label| ["--label", label]);
        let args: Vec<&str> = ["ingest", "p"].into_iter().chain(options).collect();
        place.ok(&args).stderr
    };
    place.write("p/a.json", log(1, 3));
    ingest(&["night=7", "driver=550.54 \u{3b2}=1"]);
    place.ok(&["tag", "create", "then"]);
    place.write("p/a.json", log(1, 5));
    ingest(&["night=8", "by=me"]);
    let now = [
        "p/a.json,by,me",
        "p/a.json,driver,550.54 \u{3b2}=1",
        "p/a.json,night,8",
    ];
    assert_eq!(place.rows(ALL), now);
    assert_eq!(records(&place, "night=8"), ["5"]);
    assert_eq!(records(&place, "night=7"), ["0"]);
    let then = place.ok(&[
        "--at",
        "then",
        "SELECT value FROM labels WHERE key = 'night'",
    ]);
    assert_eq!(then.stdout, "value\n7\n");
    let segments = "SELECT replace(labels, chr(10), ' ') FROM source_segments ORDER BY segment";
    let of_segments = ["driver=550.54 \u{3b2}=1 night=7", "by=me night=8"];
    assert_eq!(place.rows(segments), of_segments);
    // A grown file without labels changes no label.
    place.write("p/a.json", log(1, 6));
    ingest(&[]);
    assert_eq!(place.rows(ALL), now);
    // A known file retains its labels, and a note reports that. Another name of it has separate labels.
    place.write("p/b.json", log(1, 6));
    let stderr = ingest(&["night=9"]);
    assert!(
        stderr.contains("note: 1 file contained no new records,"),
        "{stderr}"
    );
    assert_eq!(place.rows(ALL), [&now[..], &["p/b.json,night,9"]].concat());
    assert!(!ingest(&[]).contains("note: "));
    place.assert_sound(&["p/a.json", "p/b.json"]);
    let listed = String::from_utf8(place.read("back/tsql-export.json")).unwrap();
    assert!(
        listed.contains("\"night\": \"8\"") && listed.contains("\"by\": \"me\""),
        "{listed}"
    );
}

#[test]
#[ignore = "full tier"]
fn a_stream_has_its_most_recent_labels() {
    let place = Place::new();
    let append = |label: &str, text: &str| {
        let args = [
            "append",
            "--stream",
            "s",
            "--platform",
            "p",
            "--label",
            label,
            "--rows",
            "2",
        ];
        let ran = place.tsql_with_input(&args, text.as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    append("night=7", &log(1, 5));
    assert_eq!(records(&place, "night=7"), ["5"]);
    append("driver=2", &log(1, 6));
    let both = ["streams/p/s.json,driver,2", "streams/p/s.json,night,7"];
    assert_eq!(place.rows(ALL), both);
    let stderr = append("night=8", &log(1, 6));
    assert!(
        stderr.contains("note: 1 file contained no new records,"),
        "{stderr}"
    );
    assert_eq!(place.rows(ALL), both);
    place.assert_sound(&[]);
}

#[test]
fn invalid_labels_are_rejected_before_reading() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    let long = format!("k={}", "v".repeat(1001));
    for (labels, wanted) in [
        (vec!["night"], "has no `=`"),
        (vec!["=7"], "`` is not a valid key of a label\nhint: "),
        (
            vec!["a night=7"],
            "`a night` is not a valid key of a label\nhint: ",
        ),
        (vec!["night="], "`night` has no value\nhint: "),
        (
            vec!["night=7\n8"],
            "the value of `night` is not valid\nhint: ",
        ),
        (vec![&long], "the value of `k` is not valid\nhint: "),
        (
            vec!["night=7", "night=8"],
            "`night` is given twice, with `7` and `8`\nhint: ",
        ),
    ] {
        let options = || labels.iter().flat_map(|label| ["--label", label]);
        let ingest: Vec<&str> = ["ingest", "p"].into_iter().chain(options()).collect();
        let append = ["append", "--stream", "s", "--platform", "p"];
        let append: Vec<&str> = append.into_iter().chain(options()).collect();
        for args in [ingest, append] {
            let ran = place.tsql(&args);
            assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
        }
    }
    let stored = place.tsql(&["SELECT count(*) FROM files"]);
    assert!(
        stored.code == Some(2) || stored.stdout.ends_with("\n0\n"),
        "{}",
        stored.stdout
    );
    place.ok(&[
        "ingest", "-q", "p", "--label", "night=7", "--label", "night=7",
    ]);
    assert_eq!(place.rows(ALL), ["p/a.json,night,7"]);
    // An export list with invalid labels is rejected, too.
    place.ok(&["export", "--to", "back"]);
    let list = String::from_utf8(place.read("back/tsql-export.json")).unwrap();
    place.write(
        "back/tsql-export.json",
        list.replace("\"7\"", "\"7\\nwho=me\""),
    );
    let ran = place.tsql(&["--store", "new", "ingest", "back"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("tsql-export.json has an invalid label for it: the value of `night`"),
        "{}",
        ran.stderr
    );
}

/// Older stores have no labels, and get them with the next file.
#[test]
#[ignore = "full tier"]
fn older_stores_accept_labels() {
    for packed in [
        &include_bytes!("../stores/first-form.tar.zst")[..],
        &include_bytes!("../stores/records-version-3.tar.zst")[..],
    ] {
        let place = Place::new();
        let tar = zstd::stream::read::Decoder::new(packed).unwrap();
        tar::Archive::new(tar).unpack(place.path()).unwrap();
        assert_eq!(
            place.rows("SELECT count(*), count(labels) > 0 FROM sources WHERE labels IS NOT NULL"),
            ["0,false"]
        );
        assert_eq!(place.rows(ALL), [""; 0]);
        let before = place.rows("SELECT count(*) FROM files");
        place.write("new/x.json", log(900, 3));
        place.ok(&["ingest", "-q", "new", "--label", "night=7"]);
        assert_eq!(place.rows(ALL), ["new/x.json,night,7"]);
        assert_eq!(records(&place, "night=7"), ["3"]);
        place.ok(&["optimize"]);
        assert_eq!(place.rows(ALL), ["new/x.json,night,7"]);
        assert_ne!(place.rows("SELECT count(*) FROM files"), before);
        place.ok(&["export", "--to", "back", "--source", "new/*"]);
        assert_eq!(place.read("back/new/x.json"), place.read("new/x.json"));
    }
}

#[cfg(all(feature = "measure", target_os = "linux"))]
mod measured {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::{ALL, records};
    use crate::measure::measuring;
    use crate::support::Place;

    const LINE: &str =
        r#"{"workload_key": ["mm", 8], "steps": {"T": 1}, "repeats_ns": [400.5, 7]}"#;

    /// The journal of a killed run contains its labels.
    #[test]
    #[ignore = "full tier"]
    fn runs_have_labels_even_if_killed() {
        let place = Place::new();
        place.write("line.json", format!("{LINE}\n"));
        place.write("tune.sh", "cat line.json\n");
        place.write("other.json", format!("{}\n", LINE.replace("400.5", "300")));
        place.write("slow.sh", "cat other.json\nexec sleep 20\n");
        let exec = ["measure", "exec", "--platform", "p", "--label"];
        let with = |rest: &[&'static str]| [&exec[..], rest].concat();
        let ran = measuring(&place, &with(&["night=7", "--", "sh", "tune.sh"]))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(records(&place, "night=7"), ["1"]);
        let slow = [
            "night=8",
            "--name",
            "slow",
            "--commit-every",
            "1h",
            "--",
            "sh",
            "slow.sh",
        ];
        let mut child = measuring(&place, &with(&slow));
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let journals = place.path().join("state/journals");
        let start = Instant::now();
        let is_there = || {
            let files = std::fs::read_dir(&journals).unwrap();
            let mut texts =
                files.map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default());
            texts.any(|text| String::from_utf8_lossy(&text).contains("repeats_ns"))
        };
        while !is_there() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "no line in a journal"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(records(&place, "night=8"), ["0"]);
        let resumed = measuring(&place, &["measure", "resume"]).output().unwrap();
        assert!(resumed.status.success(), "{resumed:?}");
        assert_eq!(records(&place, "night=8"), ["1"]);
        assert_eq!(place.rows(ALL).len(), 2);
        // No command starts with invalid labels.
        let twice = ["night=8", "--label", "night=9", "--", "touch", "started"];
        let ran = measuring(&place, &with(&twice)).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert!(!place.path().join("started").exists());
        place.ok(&["check"]);
    }
}

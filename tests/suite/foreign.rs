//! What others have put where tsql looks: stores, programs in them, journals, and what killed processes leave.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::measure::measuring;
use crate::support::{Place, log};

/// Some user who is not this one.
const OTHER: u32 = 54_321;

const COUNT: &str = "SELECT count(*) FROM records";

/// Makes a file somebody else's, which only root can.
fn give_away(path: &Path) -> bool {
    let given = chown(path, Some(OTHER), None).is_ok();
    if !given {
        eprintln!("skipped: only root can give files away");
    }
    given
}

fn text(output: std::process::Output) -> (Option<i32>, String) {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), told)
}

#[test]
fn a_store_of_somebody_else_is_not_found() {
    for given in [".tsql", ".tsql/tsql-store.toml"] {
        let place = Place::new();
        place.write("a.json", log(0, 3));
        place.ok(&["ingest", "a.json", "--platform", "p"]);
        fs::create_dir_all(place.path().join("below/work")).unwrap();
        if !give_away(&place.path().join(given)) {
            return;
        }
        let below = |args: &[&str]| {
            let mut command = place.command(args);
            text(
                command
                    .current_dir(place.path().join("below/work"))
                    .output()
                    .unwrap(),
            )
        };
        for args in [
            &[COUNT][..],
            &["tables"],
            &["check"],
            &["ingest", "../../a.json", "--platform", "p"],
        ] {
            let (code, told) = below(args);
            assert_eq!(code, Some(2), "{args:?}: {told}");
            assert!(told.contains("belongs to uid 54321"), "{told}");
            assert!(told.contains("hint: --store "), "{told}");
        }
        assert_eq!(below(&["SELECT 1"]).0, Some(0));
        assert_eq!(below(&["--store", "../../.tsql", COUNT]).0, Some(0));
        assert_eq!(below(&["init"]).0, Some(0));
        assert_eq!(below(&[COUNT]).0, Some(0));
    }
}

/// A record whose program has these flags and this source.
fn record(flags: &str, source: &str) -> String {
    let manifest = format!(
        "[program]\nname = \"own\"\nlanguage = \"c\"\nsource = \"own.c\"\nentry = \"own\"\nflags = [{flags}]\n\
         [[workload]]\nparams = {{ N = 8 }}\n\
         [[arg]]\nname = \"b\"\nkind = \"buffer\"\ndtype = \"i32\"\nshape = [\"N\"]\nrole = \"out\"\n\
         [measure]\nrepeat = 2\nmax_repeat = 4\nmin_repeat_ms = 0.02\nmax_time_s = 0.05\n"
    );
    let record = serde_json::json!({
        "workload_key": ["own", {"N": 8}],
        "steps": {},
        "repeats_ns": [5, 5.5],
        "environment": {
            "target": "c",
            "program": {"name": "own.toml", "manifest": manifest, "files": {"own.c": source}},
        },
    });
    format!("{record}\n")
}

const FILLS: &str = "void own(int *b) { for (int i = 0; i < N; i++) b[i] = i; }\n";

fn append(place: &Place, stream: &str, lines: &str) {
    let args = [
        "append",
        "--stream",
        stream,
        "--platform",
        "p",
        "--input-format",
        "measured",
    ];
    let ran = place.tsql_with_input(&args, lines.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn programs_of_a_store_are_shown_and_asked_for() {
    let place = Place::new();
    append(&place, "theirs", &record("\"-O2\"", FILLS));
    let (code, told) = text(measuring(&place, &["measure", "repeat"]).output().unwrap());
    assert_eq!(code, Some(2), "{told}");
    for shown in [
        "the store names programs",
        "\n  own\n",
        " -O2: own.c (1 line, xxh3 ",
        "hint: --trust ",
    ] {
        assert!(told.contains(shown), "{told}");
    }
    assert_eq!(place.rows(COUNT), ["1"]);
    let args = ["measure", "repeat", "--trust"];
    let (_, told) = text(measuring(&place, &args).output().unwrap());
    assert!(told.contains("1 record measured again"), "{told}");
    assert_eq!(place.rows(COUNT), ["2"]);
}

#[test]
fn trust_does_not_extend_to_flags_that_run_programs() {
    for flags in [
        "\"-wrapper\", \"sh,-c,touch ../../pwned\"",
        "\"-fplugin=./own.so\"",
        "\"@own.c\"",
    ] {
        let place = Place::new();
        append(&place, "theirs", &record(flags, FILLS));
        let args = ["measure", "repeat", "--trust"];
        let (code, told) = text(measuring(&place, &args).output().unwrap());
        assert_eq!(code, Some(2), "{told}");
        assert!(
            told.contains("is no flag that a manifest may give"),
            "{told}"
        );
        assert_eq!(place.rows(COUNT), ["1"]);
        assert!(!place.path().join("pwned").exists());
    }
}

/// A journal of `stream` in the folder of journals `folder`.
fn journal(place: &Place, folder: &Path, stream: &str, lines: &[&[u8]]) {
    fs::create_dir_all(folder).unwrap();
    let store = place.path().canonicalize().unwrap().join(".tsql");
    let head = serde_json::json!({"store": store, "stream": stream, "platform": "p"});
    let mut bytes = format!("{head}\n").into_bytes();
    for line in lines {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    fs::write(folder.join("left.journal"), bytes).unwrap();
}

fn measured(number: usize) -> String {
    format!(
        r#"{{"workload_key": "k", "steps": [{number}], "runtime_ns": {}}}"#,
        number + 1
    )
}

/// Lines that the store has, lines that it does not have, and damage among both.
#[test]
fn damage_in_a_journal_takes_only_its_line() {
    let lines: Vec<String> = (0..20).map(measured).collect();
    let numbers = "SELECT runtime_ns FROM records ORDER BY runtime_ns";
    for known in [0, 8] {
        let place = Place::new();
        place.ok(&["init"]);
        if known > 0 {
            append(&place, "measure/left", &(lines[..known].join("\n") + "\n"));
        }
        let folder = place.path().join("state/journals");
        let mut damaged: Vec<Vec<u8>> =
            lines.iter().map(|line| line.clone().into_bytes()).collect();
        for (line, byte) in [(3, 0), (12, 0), (13, 0xff), (17, 0)] {
            damaged[line][20] = byte;
        }
        let damaged: Vec<&[u8]> = damaged.iter().map(Vec::as_slice).collect();
        journal(&place, &folder, "measure/left", &damaged);
        let (code, told) = text(measuring(&place, &["measure", "resume"]).output().unwrap());
        assert_eq!(code, Some(1), "{told}");
        // The journal's first line is its head.
        let lost: &[usize] = if known > 3 {
            &[12, 13, 17]
        } else {
            &[3, 12, 13, 17]
        };
        let expected: Vec<String> = (0..20)
            .filter(|number| !lost.contains(number))
            .map(|number| format!("{}.0", number + 1))
            .collect();
        assert_eq!(place.rows(numbers), expected, "{told}");
        for line in lost {
            assert!(
                told.contains(&format!("left.damaged:{}: damaged", line + 2)),
                "{told}"
            );
        }
        assert!(folder.join("left.damaged").exists() && !folder.join("left.journal").exists());
        // Put back, it adds nothing.
        fs::rename(folder.join("left.damaged"), folder.join("left.journal")).unwrap();
        measuring(&place, &["measure", "resume"]).output().unwrap();
        assert_eq!(place.rows(numbers), expected);
        place.ok(&["check"]);
    }
}

#[test]
fn a_journal_that_somebody_else_has_left_is_not_stored() {
    let place = Place::new();
    place.ok(&["init"]);
    let scratch = place.path().join("scratch");
    let state = scratch.join("tsql-state");
    let forged = measured(1);
    journal(
        &place,
        &state.join("journals"),
        "measure/forged",
        &[forged.as_bytes()],
    );
    if !give_away(&state) {
        return;
    }
    let resume = || {
        let mut command = place.command(&["measure", "resume"]);
        text(command.env("TMPDIR", &scratch).output().unwrap())
    };
    let (code, told) = resume();
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("belongs to uid 54321"), "{told}");
    assert!(told.contains("hint: TSQL_STATE "), "{told}");
    assert_eq!(place.rows(COUNT), ["0"]);
    // His own is taken, and closed to others.
    chown(&state, Some(0), None).unwrap();
    let (code, told) = resume();
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(place.rows(COUNT), ["1"]);
    let mode = state
        .join("journals")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Entries of a folder that begin as scratch folders do.
fn scratch(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_scratch = |path: &std::path::PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("tsql-")
    };
    entries.filter(is_scratch).collect()
}

/// A query that has spilled, and waits for somebody to read what it prints.
fn spilling(place: &Place, folder: &Path) -> std::process::Child {
    fs::create_dir_all(folder).unwrap();
    let sql = "SELECT value, value % 1000 AS rest, repeat('x', 20) AS text FROM generate_series(1, 2000000) ORDER BY rest, value DESC";
    let mut child = place
        .command(&["--memory-limit", "60MB", sql])
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let spilled = |folder: &Path| {
        let walk = Command::new("find")
            .arg(folder)
            .args(["-path", "*/files/*", "-type", "f", "-size", "+0"])
            .output();
        !walk.unwrap().stdout.is_empty()
    };
    while !spilled(folder) {
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none() && begun.elapsed() < Duration::from_secs(120),
            "{ended:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

/// Are processes that start here to ignore Ctrl-C, as in the background of a script?
fn interrupts_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map(|set| u64::from_str_radix(set.trim(), 16).unwrap());
    set.is_some_and(|set| set & 0b10 != 0)
}

#[test]
fn what_a_query_has_spilled_goes_with_it() {
    let place = Place::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        if signal == "-INT" && interrupts_are_ignored() {
            eprintln!("skipped: whoever runs the tests wants interrupts to be ignored");
            continue;
        }
        let folder = place.path().join(signal);
        let mut child = spilling(&place, &folder);
        let [scratch] = &scratch(&folder)[..] else {
            panic!("one folder");
        };
        assert_eq!(
            scratch.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        let killed = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
    // A kill leaves it to the next.
    let folder = place.path().join("killed");
    let mut child = spilling(&place, &folder);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch(&folder).len(), 1);
    let mut next = place.command(&["--memory-limit", "60MB", "SELECT 1"]);
    assert!(next.env("TMPDIR", &folder).status().unwrap().success());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Scratch folders of a run that was killed go with the next run.
#[test]
fn a_killed_run_leaves_its_builds_to_the_next() {
    let place = Place::new();
    append(
        &place,
        "theirs",
        &record(
            "\"-O2\"",
            "void own(int *b) { for (volatile int go = 1; go;) {} }\n",
        ),
    );
    let args = ["measure", "repeat", "--trust", "--json"];
    let mut child = measuring(&place, &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 64];
    let read = child.stdout.as_mut().unwrap().read(&mut first).unwrap();
    assert!(String::from_utf8_lossy(&first[..read]).contains("started"));
    let folder = place.path().join("scratch");
    let [left] = &scratch(&folder)[..] else {
        panic!("one folder");
    };
    assert_eq!(left.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch(&folder).len(), 1);
    let next = measuring(&place, &["measure", "run", "transpose", "--trials", "1"])
        .output()
        .unwrap();
    assert!(
        next.status.success(),
        "{}",
        String::from_utf8_lossy(&next.stderr)
    );
    assert_eq!(scratch(&folder).len(), 0);
}

//! Files of other users and processes: stores, their programs, journals, and leftovers of killed processes.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::measure::measuring;
use crate::support::{Place, log};

/// Id of another user.
const OTHER: u32 = 54_321;

const COUNT: &str = "SELECT count(*) FROM records";

/// Gives a file to another user. Returns `false` without the permission, which only root has.
fn chown_to_other(path: &Path) -> bool {
    let changed = chown(path, Some(OTHER), None).is_ok();
    if !changed {
        eprintln!("skipped: only root can give files away");
    }
    changed
}

fn text(output: std::process::Output) -> (Option<i32>, String) {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

#[test]
fn a_store_of_another_user_is_not_found() {
    for path in [".tsql", ".tsql/tsql-store.toml"] {
        let place = Place::new();
        place.write("a.json", log(0, 3));
        place.ok(&["ingest", "a.json", "--platform", "p"]);
        fs::create_dir_all(place.path().join("below/work")).unwrap();
        if !chown_to_other(&place.path().join(path)) {
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
            let (code, stderr) = below(args);
            assert_eq!(code, Some(2), "{args:?}: {stderr}");
            assert!(stderr.contains("belongs to uid 54321"), "{stderr}");
            assert!(stderr.contains("hint: --store "), "{stderr}");
        }
        assert_eq!(below(&["SELECT 1"]).0, Some(0));
        assert_eq!(below(&["--store", "../../.tsql", COUNT]).0, Some(0));
        assert_eq!(below(&["init"]).0, Some(0));
        assert_eq!(below(&[COUNT]).0, Some(0));
    }
}

/// Returns a record of a program with these flags and this source.
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
fn programs_of_a_store_are_shown_and_need_consent() {
    let place = Place::new();
    append(&place, "theirs", &record("\"-O2\"", FILLS));
    let (code, stderr) = text(measuring(&place, &["measure", "repeat"]).output().unwrap());
    assert_eq!(code, Some(2), "{stderr}");
    for shown in [
        "the store contains programs",
        "\n  own\n",
        " -O2: own.c (1 line, xxh3 ",
        "hint: --trust ",
    ] {
        assert!(stderr.contains(shown), "{stderr}");
    }
    assert_eq!(place.rows(COUNT), ["1"]);
    let args = ["measure", "repeat", "--trust"];
    let (_, stderr) = text(measuring(&place, &args).output().unwrap());
    assert!(stderr.contains("1 record measured again"), "{stderr}");
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
        let (code, stderr) = text(measuring(&place, &args).output().unwrap());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("is not an allowed flag"), "{stderr}");
        assert_eq!(place.rows(COUNT), ["1"]);
        assert!(!place.path().join("pwned").exists());
    }
}

/// Writes a journal of `stream` into the folder of journals `folder`.
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

/// Damage among lines that the store has, and among lines that it does not have.
#[test]
#[ignore = "full tier"]
fn damage_in_a_journal_loses_only_its_line() {
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
        let (code, stderr) = text(measuring(&place, &["measure", "resume"]).output().unwrap());
        assert_eq!(code, Some(1), "{stderr}");
        // The first line of a journal is its header.
        let lost: &[usize] = if known > 3 {
            &[12, 13, 17]
        } else {
            &[3, 12, 13, 17]
        };
        let expected: Vec<String> = (0..20)
            .filter(|number| !lost.contains(number))
            .map(|number| format!("{}.0", number + 1))
            .collect();
        assert_eq!(place.rows(numbers), expected, "{stderr}");
        for line in lost {
            assert!(
                stderr.contains(&format!("left.damaged:{}: damaged", line + 2)),
                "{stderr}"
            );
        }
        assert!(folder.join("left.damaged").exists() && !folder.join("left.journal").exists());
        // The damaged journal adds nothing if it is moved back.
        fs::rename(folder.join("left.damaged"), folder.join("left.journal")).unwrap();
        measuring(&place, &["measure", "resume"]).output().unwrap();
        assert_eq!(place.rows(numbers), expected);
        place.ok(&["check"]);
    }
}

#[test]
fn a_journal_of_another_user_is_not_stored() {
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
    if !chown_to_other(&state) {
        return;
    }
    let resume = || {
        let mut command = place.command(&["measure", "resume"]);
        text(command.env("TMPDIR", &scratch).output().unwrap())
    };
    let (code, stderr) = resume();
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("belongs to uid 54321"), "{stderr}");
    assert!(stderr.contains("hint: TSQL_STATE "), "{stderr}");
    assert_eq!(place.rows(COUNT), ["0"]);
    // The folder of the user is used, and closed to others.
    chown(&state, Some(0), None).unwrap();
    let (code, stderr) = resume();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(place.rows(COUNT), ["1"]);
    let mode = state
        .join("journals")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Returns the scratch folders of a folder.
fn scratch_entries(folder: &Path) -> Vec<std::path::PathBuf> {
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

/// Starts a query that has spilled and waits for a reader of its output.
fn spawn_spilling_query(place: &Place, folder: &Path) -> std::process::Child {
    fs::create_dir_all(folder).unwrap();
    let sql = "SELECT value, value % 1000 AS rest, repeat('x', 20) AS text FROM generate_series(1, 2000000) ORDER BY rest, value DESC";
    let mut child = place
        .command(&["--memory-limit", "60MB", sql])
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
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
            ended.is_none() && start.elapsed() < Duration::from_secs(120),
            "{ended:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

/// Returns whether child processes ignore Ctrl-C, as in the background of a script.
fn interrupts_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .map(|set| u64::from_str_radix(set.trim(), 16).unwrap());
    set.is_some_and(|set| set & 0b10 != 0)
}

#[test]
fn spill_files_are_deleted_with_their_query() {
    let place = Place::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        if signal == "-INT" && interrupts_are_ignored() {
            eprintln!("skipped: the caller of the tests ignores interrupts");
            continue;
        }
        let folder = place.path().join(signal);
        let mut child = spawn_spilling_query(&place, &folder);
        let [scratch] = &scratch_entries(&folder)[..] else {
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
    // After a kill the next query deletes the folder.
    let folder = place.path().join("killed");
    let mut child = spawn_spilling_query(&place, &folder);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch_entries(&folder).len(), 1);
    let mut next = place.command(&["--memory-limit", "60MB", "SELECT 1"]);
    assert!(next.env("TMPDIR", &folder).status().unwrap().success());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

/// Scratch folders of a killed run are deleted by the next run.
#[test]
#[ignore = "full tier"]
fn builds_of_a_killed_run_are_deleted_by_the_next() {
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
    let [left] = &scratch_entries(&folder)[..] else {
        panic!("one folder");
    };
    assert_eq!(left.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch_entries(&folder).len(), 1);
    let next = measuring(&place, &["measure", "run", "transpose", "--trials", "1"])
        .output()
        .unwrap();
    assert!(
        next.status.success(),
        "{}",
        String::from_utf8_lossy(&next.stderr)
    );
    assert_eq!(scratch_entries(&folder).len(), 0);
}

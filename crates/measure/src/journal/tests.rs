use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::*;

fn lines(journal: &mut Journal) -> Vec<String> {
    let lines = journal.lines().unwrap();
    lines.into_iter().map(Option::unwrap).collect()
}

#[test]
fn lines_come_back_in_order_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(&folder.path().join("new"), "run").unwrap();
    journal.append("{\"a\": 1}").unwrap();
    journal.push("two \r").unwrap();
    journal.push("").unwrap();
    journal.sync().unwrap();
    let path = journal.path().to_owned();
    drop(journal);
    let mut journal = Journal::open(&path).unwrap();
    journal.append("four").unwrap();
    assert_eq!(lines(&mut journal), ["{\"a\": 1}", "two \r", "", "four"]);
}

#[test]
fn a_torn_end_is_not_read_and_is_removed_before_the_next_line() {
    let folder = tempfile::tempdir().unwrap();
    for torn in ["half of a li", "\0\0\0\0", "\u{e9}"] {
        let path = folder.path().join("torn.journal");
        std::fs::write(&path, format!("one\ntwo\n{torn}")).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(lines(&mut journal), ["one", "two"]);
        journal.append("three").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n");
        assert_eq!(lines(&mut journal), ["one", "two", "three"]);
    }
}

#[test]
fn a_damaged_line_does_not_affect_other_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.journal");
    std::fs::write(&path, b"one\nt\0o\n\nthr\xff\xfe\nfive\n\0\0\nsi\0").unwrap();
    let mut journal = Journal::open(&path).unwrap();
    let lines = journal.lines().unwrap();
    let lines: Vec<Option<&str>> = lines.iter().map(Option::as_deref).collect();
    assert_eq!(
        lines,
        [Some("one"), None, Some(""), None, Some("five"), None, None]
    );
    // Appended text starts a new line, although the last line is incomplete.
    journal.append("seven").unwrap();
    let lines = journal.lines().unwrap();
    assert_eq!(lines.last(), Some(&Some("seven".to_owned())));
    assert_eq!(lines.len(), 8);
    let damaged_path = journal.quarantine().unwrap();
    assert!(damaged_path.ends_with("run.damaged") && damaged_path.exists() && !path.exists());
    assert_eq!(
        Journal::find_abandoned(folder.path()).unwrap(),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_record_with_a_line_feed_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(folder.path(), "run").unwrap();
    for line in ["a\nb", "a\0"] {
        assert!(matches!(journal.append(line), Err(Error::Argument { .. })));
    }
    assert_eq!(lines(&mut journal), [""; 0]);
    for name in ["", "../x", ".x", "a/b"] {
        assert!(
            matches!(
                Journal::create(folder.path(), name),
                Err(Error::Argument { .. })
            ),
            "{name}"
        );
    }
}

#[test]
fn a_full_disk_preserves_earlier_lines_and_leaves_no_partial_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(folder.path(), "run").unwrap();
    journal.append("one").unwrap();
    // A read-only handle simulates a full disk.
    let path = journal.path().to_owned();
    let writable = std::mem::replace(&mut journal.file, File::open(&path).unwrap());
    assert!(journal.append("two").is_err());
    assert!(
        matches!(journal.append("two"), Err(Error::Source { .. })),
        "it went on after a failed repair"
    );
    journal.file = writable;
    assert_eq!(lines(&mut journal), ["one"]);
}

#[test]
fn a_second_writer_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::create(folder.path(), "run").unwrap();
    let path = journal.path().to_owned();
    let message = Journal::open(&path).unwrap_err().to_string();
    assert!(message.contains("another process writes"), "{message}");
    let message = Journal::create(folder.path(), "run")
        .unwrap_err()
        .to_string();
    assert!(message.contains("already\nhint: "), "{message}");
    assert!(!folder.path().join("run.starting").exists());
    drop(journal);
    assert!(Journal::create(folder.path(), "run").is_err());
    Journal::open(&path).unwrap();
}

#[test]
fn only_unlocked_journals_are_leftovers() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        Journal::find_abandoned(&folder.path().join("none")).unwrap(),
        Vec::<PathBuf>::new()
    );
    let written = Journal::create(folder.path(), "b").unwrap();
    let abandoned = Journal::create(folder.path(), "a")
        .unwrap()
        .path()
        .to_owned();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert_eq!(
        Journal::find_abandoned(folder.path()).unwrap(),
        std::slice::from_ref(&abandoned)
    );
    let path = written.path().to_owned();
    drop(written);
    assert_eq!(
        Journal::find_abandoned(folder.path()).unwrap(),
        [abandoned.clone(), path]
    );
    Journal::open(&abandoned).unwrap().finish().unwrap();
    assert!(!abandoned.exists());
}

#[test]
fn an_interrupted_creation_does_not_block_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.starting"), "half").unwrap();
    let mut journal = Journal::create(folder.path(), "run").unwrap();
    assert_eq!(lines(&mut journal), [""; 0]);
}

#[test]
fn one_of_many_creators_wins() {
    let folder = tempfile::tempdir().unwrap();
    let journals: Vec<_> = std::thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Journal::create(folder.path(), "run").ok()))
            .collect();
        attempts
            .into_iter()
            .filter_map(|attempt| attempt.join().unwrap())
            .collect()
    });
    assert_eq!(journals.len(), 1);
}

const FOLDER: &str = "JOURNAL_TEST_FOLDER";

/// A line that differs from parts of other lines. Lengths vary up to several pages.
fn line(number: usize) -> String {
    format!(
        "{{\"number\": {number}, \"filling\": \"{}\"}}",
        "x".repeat(number * 7919 % 20_000)
    )
}

/// Not a test: the process killed by the next test.
#[test]
#[ignore = "runs until it is killed, as a child of another test"]
fn child_that_appends_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let path = folder.join("run.journal");
    let mut journal = if path.exists() {
        Journal::open(&path)
    } else {
        Journal::create(&folder, "run")
    }
    .unwrap();
    let mut out = std::io::stdout();
    for number in journal.lines().unwrap().len().. {
        // Every third line is synced together with the next one.
        if number % 3 == 0 {
            journal.push(&line(number)).unwrap();
            continue;
        }
        journal.append(&line(number)).unwrap();
        writeln!(out, "durable {number}").unwrap();
    }
}

/// A killed process leaves its pages in the kernel, so this covers torn lines and their repair but not
/// power failures.
#[test]
fn a_writer_killed_fifty_times_loses_no_line_that_it_announced() {
    let folder = tempfile::tempdir().unwrap();
    let module = module_path!().split_once("::").unwrap().1;
    let child = format!("{module}::child_that_appends_until_it_is_killed");
    let mut random = fastrand::Rng::with_seed(7);
    let mut announced = None;
    for round in 0..50 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                &child,
                "--exact",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let (line_sender, first_line) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let numbers = BufReader::new(output)
                .lines()
                .map_while(std::io::Result::ok);
            let numbers =
                numbers.filter_map(|line| line.split_once("durable ")?.1.parse::<usize>().ok());
            numbers.inspect(|_| _ = line_sender.send(())).last()
        });
        // Usually killed while it writes, sometimes during startup and repair.
        if round % 5 != 1 {
            first_line.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(random.u64(0..40_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        announced = reader.join().unwrap().max(announced);
        let path = folder.path().join("run.journal");
        if !path.exists() {
            // Killed before its first write.
            assert_eq!(announced, None);
            continue;
        }
        if round % 5 == 0 {
            // Simulates a kill between two parts of a write.
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(b"{\"number\": 12").unwrap();
        }
        assert_eq!(
            Journal::find_abandoned(folder.path()).unwrap(),
            std::slice::from_ref(&path)
        );
        let found = Journal::open(&path).unwrap().lines().unwrap();
        assert!(
            found.len() > announced.unwrap_or(0) || announced.is_none(),
            "round {round}: {} lines, {announced:?}",
            found.len()
        );
        for (number, text) in found.iter().enumerate() {
            assert_eq!(
                text.as_deref(),
                Some(line(number).as_str()),
                "round {round}"
            );
        }
    }
    assert!(
        announced > Some(50),
        "the children hardly wrote: {announced:?}"
    );
}

//! Streams: complete, partial, resent and interrupted ones, from the command and the library.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tsql::{AppendOptions, IngestOptions, Store};

use crate::support::{Place, line, log};

fn append<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let args = ["append", "--stream", "s", "--platform", "p"];
    args.iter().chain(more).copied().collect()
}

const COUNTED: &str = "SELECT count(*), count(DISTINCT line), max(line) FROM records";

#[test]
#[ignore = "full tier"]
fn a_resent_stream_adds_only_new_lines() {
    let place = Place::new();
    let text = log(1, 90);
    let half = text.len() / 2;
    // The stream breaks off within a line. The partial line is stored and completed the next time.
    let first = place.tsql_with_input(&append(&["--rows", "20"]), &text.as_bytes()[..half]);
    assert_eq!(first.code, Some(1), "{}", first.stderr);
    let whole_lines = text[..half].matches('\n').count();
    assert_eq!(
        place.rows(COUNTED),
        [format!("{whole_lines},{whole_lines},{whole_lines}")]
    );
    let again = place.tsql_with_input(&append(&["--rows", "20"]), text.as_bytes());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(place.rows(COUNTED), ["90,90,90"]);
    let same = place.tsql_with_input(&append(&[]), text.as_bytes());
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    assert!(
        same.stderr.contains("0 lines in 0 batches"),
        "{}",
        same.stderr
    );
    assert_eq!(place.rows(COUNTED), ["90,90,90"]);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/streams/p/s.json"), text.as_bytes());
}

#[test]
fn another_stream_of_the_same_name_is_rejected() {
    let place = Place::new();
    place.tsql_with_input(&append(&[]), log(1, 30).as_bytes());
    let other = place.tsql_with_input(&append(&[]), log(2, 40).as_bytes());
    assert_eq!(other.code, Some(2));
    assert!(
        other
            .stderr
            .contains("that differ from the beginning of this input"),
        "{}",
        other.stderr
    );
    let short = place.tsql_with_input(&append(&[]), log(1, 10).as_bytes());
    assert_eq!(short.code, Some(2));
    assert!(
        short.stderr.contains("but the input has fewer"),
        "{}",
        short.stderr
    );
    assert_eq!(place.rows(COUNTED), ["30,30,30"]);
    for name in ["", "a//b", "../a", "a b"] {
        let wrong = place.tsql_with_input(&["append", "--stream", name, "--platform", "p"], b"");
        assert_eq!(wrong.code, Some(2), "{name}");
        assert!(
            wrong.stderr.contains("is not a valid stream name"),
            "{}",
            wrong.stderr
        );
    }
}

#[test]
fn bad_lines_of_a_stream_are_reported_and_stored() {
    let place = Place::new();
    let text = log(1, 3) + "# a comment\nno record\r\n" + &log(10, 3);
    let ran = place.tsql_with_input(&append(&["--rows", "2"]), text.as_bytes());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("stream s:5: "), "{}", ran.stderr);
    assert_eq!(
        place.rows("SELECT kind, line FROM lines ORDER BY line"),
        ["comment,4", "rejected,5"]
    );
    place.ok(&["export", "--to", "back"]);
    assert_eq!(place.read("back/streams/p/s.json"), text.as_bytes());
    let strict = place.tsql_with_input(
        &["append", "--stream", "t", "--platform", "p", "--strict"],
        text.as_bytes(),
    );
    assert_eq!(strict.code, Some(2));
}

#[test]
fn a_line_is_visible_soon_after_it_arrives() {
    let place = Place::new();
    let mut child = place
        .command(&append(&["--every", "100ms", "--ack"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut acknowledgements = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 1..=3 {
        let start = Instant::now();
        input
            .write_all((line(number, "0.001") + "\n").as_bytes())
            .unwrap();
        input.flush().unwrap();
        let acknowledgement = acknowledgements.next().unwrap().unwrap();
        assert!(
            acknowledgement.contains(&format!("\"lines\":{number}")),
            "{acknowledgement}"
        );
        assert!(start.elapsed() < Duration::from_secs(20));
        assert_eq!(
            place.rows("SELECT count(*) FROM records"),
            [number.to_string()]
        );
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_interrupted_stream_stores_its_whole_lines() {
    let place = Place::new();
    let mut child = place
        .command(&append(&["--every", "1h", "--rows", "3"]))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all((log(1, 5) + "{\"i\": [[").as_bytes())
        .unwrap();
    input.flush().unwrap();
    // The first group of lines creates the store.
    let start = Instant::now();
    while !place.path().join(".tsql/tsql-store.toml").exists() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.rows(COUNTED), ["5,5,5"]);
    assert_eq!(place.rows("SELECT count(*) FROM lines"), ["0"]);
    drop(input);
}

#[test]
#[ignore = "full tier"]
fn many_small_groups_are_merged() {
    let place = Place::new();
    let ran = place.tsql_with_input(&append(&["--rows", "1"]), log(1, 70).as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(place.rows(COUNTED), ["70,70,70"]);
    let history = place.ok(&["history"]).stdout;
    assert!(
        history.contains(",records,") && history.contains("OPTIMIZE"),
        "{history}"
    );
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn many_small_ingests_are_merged() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = place.path().join(".tsql");
        let store = Store::create(folder.to_str().unwrap()).await.unwrap();
        let options = IngestOptions::default().platform("p");
        for number in 0..31 {
            let path = place.write(&format!("{number}.json"), log(1 + 2 * number, 2));
            let inputs = [path.to_string_lossy().into_owned()];
            store.ingest(&inputs, &options).await.unwrap();
        }
    });
    let files = || {
        let tables = place.ok(&["tables", "--format", "jsonl"]).stdout;
        let rows = tables
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let rows: Vec<serde_json::Value> = rows.collect();
        let of = |table: &str| {
            let row = rows.iter().find(|row| row["table"] == table).unwrap();
            row["files"].as_u64().unwrap()
        };
        (of("records"), of("source_segments"))
    };
    assert_eq!(files(), (31, 31));
    place.write("last.json", log(63, 2));
    place.ok(&["ingest", "-q", "last.json", "--platform", "p"]);
    assert_eq!(files(), (1, 1));
    assert_eq!(place.rows(COUNTED), ["64,2,2"]);
    place.ok(&["check"]);
}

#[test]
fn a_program_appends_flushes_and_continues() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = place.path().join(".tsql");
        let store = Store::create(folder.to_str().unwrap()).await.unwrap();
        let options = AppendOptions::new("s", "p");
        let mut appender = store.appender(&options).await.unwrap();
        appender.write(log(1, 10).as_bytes()).await.unwrap();
        let durable = appender.flush().await.unwrap();
        assert_eq!(
            (durable.lines, durable.bytes),
            (10, log(1, 10).len() as u64)
        );
        appender.write(log(11, 5).as_bytes()).await.unwrap();
        let report = appender.close().await.unwrap();
        assert_eq!((report.files, report.records), (2, 15));
        // Resent from the beginning, with more lines.
        let mut appender = store.appender(&options).await.unwrap();
        appender.write(log(1, 10).as_bytes()).await.unwrap();
        assert_eq!(
            appender.flush().await.unwrap().lines,
            0,
            "not all of it was seen yet"
        );
        appender.write(log(11, 5).as_bytes()).await.unwrap();
        assert_eq!(appender.flush().await.unwrap().lines, 15);
        appender.write(log(16, 1).as_bytes()).await.unwrap();
        assert_eq!(appender.flush().await.unwrap().lines, 16);
        assert_eq!(appender.close().await.unwrap().records, 1);
        // Another stream of the name is rejected at the first different line.
        let mut appender = store.appender(&options).await.unwrap();
        appender.write(log(500, 40).as_bytes()).await.unwrap();
        let error = appender.flush().await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("that differ from the beginning of this input"),
            "{error}"
        );
        // The reason is returned once. Further calls fail, too.
        appender.flush().await.unwrap_err();
        appender.close().await.unwrap_err();
    });
    assert_eq!(place.rows(COUNTED), ["16,16,16"]);
}

/// Both read the ingest log before one of them commits.
#[test]
fn concurrent_streams_may_begin_with_the_same_lines() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = place.path().join(".tsql");
        let store = Store::create(folder.to_str().unwrap()).await.unwrap();
        let mut appenders = Vec::new();
        for name in ["s", "t"] {
            let options = AppendOptions::new(name, "p");
            appenders.push(store.appender(&options).await.unwrap());
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        for appender in &mut appenders {
            appender.write(log(1, 10).as_bytes()).await.unwrap();
            assert_eq!(appender.flush().await.unwrap().lines, 10);
        }
        for (number, appender) in (1..).zip(&mut appenders) {
            appender
                .write(log(100 * number, 5).as_bytes())
                .await
                .unwrap();
        }
        for appender in appenders {
            assert_eq!(appender.close().await.unwrap().records, 15);
        }
    });
    assert_eq!(place.rows("SELECT count(*) FROM records"), ["30"]);
    place.ok(&["check"]);
}

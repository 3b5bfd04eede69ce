//! Streams: sent whole, in parts, again, broken off; through the command and the library.

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
fn a_stream_that_is_sent_again_adds_what_is_new() {
    let place = Place::new();
    let text = log(1, 90);
    let half = text.len() / 2;
    // It breaks off within a line, which is kept as it is, and read to its end the next time.
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
fn another_stream_of_the_same_name_is_refused() {
    let place = Place::new();
    place.tsql_with_input(&append(&[]), log(1, 30).as_bytes());
    let other = place.tsql_with_input(&append(&[]), log(2, 40).as_bytes());
    assert_eq!(other.code, Some(2));
    assert!(
        other.stderr.contains("that do not begin this input"),
        "{}",
        other.stderr
    );
    let short = place.tsql_with_input(&append(&[]), log(1, 10).as_bytes());
    assert_eq!(short.code, Some(2));
    assert!(
        short.stderr.contains("the input ended within them"),
        "{}",
        short.stderr
    );
    assert_eq!(place.rows(COUNTED), ["30,30,30"]);
    for name in ["", "a//b", "../a", "a b"] {
        let wrong = place.tsql_with_input(&["append", "--stream", name, "--platform", "p"], b"");
        assert_eq!(wrong.code, Some(2), "{name}");
        assert!(
            wrong.stderr.contains("is no name of a stream"),
            "{}",
            wrong.stderr
        );
    }
}

#[test]
fn bad_lines_of_a_stream_are_told_and_kept() {
    let place = Place::new();
    let text = log(1, 3) + "# a comment\nno record\r\n" + &log(10, 3);
    let told = place.tsql_with_input(&append(&["--rows", "2"]), text.as_bytes());
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    assert!(told.stderr.contains("stream s:5: "), "{}", told.stderr);
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
fn a_line_is_visible_soon_after_it_came() {
    let place = Place::new();
    let mut child = place
        .command(&append(&["--every", "100ms", "--ack"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in 1..=3 {
        let begun = Instant::now();
        input
            .write_all((line(number, "0.001") + "\n").as_bytes())
            .unwrap();
        input.flush().unwrap();
        let answer = told.next().unwrap().unwrap();
        assert!(answer.contains(&format!("\"lines\":{number}")), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(20));
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
        .command(&append(&["--every", "1h"]))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all((log(1, 5) + "{\"i\": [[").as_bytes())
        .unwrap();
    input.flush().unwrap();
    // The store is there when the lines are taken.
    let begun = Instant::now();
    while !place.path().join(".tsql/tsql-store.toml").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20));
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
fn many_small_groups_are_folded() {
    let place = Place::new();
    let told = place.tsql_with_input(&append(&["--rows", "1"]), log(1, 70).as_bytes());
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_eq!(place.rows(COUNTED), ["70,70,70"]);
    let history = place.ok(&["history"]).stdout;
    assert!(
        history.contains(",records,") && history.contains("OPTIMIZE"),
        "{history}"
    );
    place.ok(&["check"]);
}

#[test]
fn many_small_ingests_are_folded() {
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
fn a_program_appends_flushes_and_goes_on() {
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
        // Sent again from its beginning, and a little further.
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
        // Another stream under the name is refused as soon as that shows.
        let mut appender = store.appender(&options).await.unwrap();
        appender.write(log(500, 40).as_bytes()).await.unwrap();
        let refused = appender.flush().await.unwrap_err();
        assert!(
            refused.to_string().contains("that do not begin this input"),
            "{refused}"
        );
    });
    assert_eq!(place.rows(COUNTED), ["16,16,16"]);
}

/// Both have read the ingest log before either commits.
#[test]
fn two_streams_at_a_time_may_begin_with_the_same_lines() {
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

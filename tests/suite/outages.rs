//! Servers that are out for a while: waited for, told, and given up in the end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Place, log};
use crate::weed::Weed;

fn begin(place: &Place, server: &Weed, url: &str, args: &[&str]) -> Child {
    place
        .s3(&server.endpoint(), url, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a command says, until it says that it waits for the server.
fn waits(child: &mut Child) -> BufReader<ChildStderr> {
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("does not answer (") {
        let more = told.read_line(&mut said).unwrap();
        assert_ne!(more, 0, "it did not wait: {said}");
    }
    told
}

/// What a command printed that had to wait; it has `told` so.
fn waited(child: Child, mut told: BufReader<ChildStderr>) -> String {
    let mut said = String::new();
    told.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("answers again after "), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_server_that_is_started_again_is_waited_for() {
    let Some(mut server) = Weed::own() else {
        return;
    };
    let (place, url) = (Place::new(), server.url());
    place.write("p/a.json", log(1, 50));
    let first = begin(&place, &server, &url, &["ingest", "-q", "p"]);
    assert!(first.wait_with_output().unwrap().status.success());
    place.write("p/b.json", log(100, 70));
    let asked = "SELECT count(*) FROM records";
    for args in [&["ingest", "-q", "p"][..], &[asked], &["check"]] {
        server.stop();
        // Nothing is known yet.
        let _ = std::fs::remove_dir_all(place.path().join("cache/tails"));
        let mut child = begin(&place, &server, &url, args);
        let told = waits(&mut child);
        server.start_again();
        let answer = waited(child, told);
        if args == [asked] {
            assert_eq!(answer, "count(*)\n120\n");
        }
    }
    // In the middle of a stream, between two of its groups.
    let args = [
        "append",
        "--stream",
        "s",
        "--platform",
        "q",
        "--rows",
        "10",
        "--ack",
    ];
    let mut child = begin(&place, &server, &url, &args);
    let mut input = child.stdin.take().unwrap();
    let mut acknowledged = BufReader::new(child.stdout.take().unwrap());
    input.write_all(log(1, 10).as_bytes()).unwrap();
    let mut first = String::new();
    acknowledged.read_line(&mut first).unwrap();
    assert!(first.contains("\"lines\":10"), "{first}");
    server.stop();
    input.write_all(log(11, 30).as_bytes()).unwrap();
    drop(input);
    let told = waits(&mut child);
    server.start_again();
    let mut rest = String::new();
    acknowledged.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"lines\":40"), "{rest}");
    waited(child, told);
    let asked = begin(&place, &server, &url, &[asked]);
    let answer = asked.wait_with_output().unwrap();
    assert_eq!(answer.stdout, b"count(*)\n160\n");
}

#[test]
fn a_server_that_stays_away_is_given_up() {
    let place = Place::new();
    let asked = |patience: &str| {
        let mut command = place.s3("http://127.0.0.1:9", "s3://nowhere/s", &["SELECT 1"]);
        let begun = Instant::now();
        let output = command.env("TSQL_RETRY_S", patience).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        (said, begun.elapsed())
    };
    let (said, took) = asked("2");
    assert!(
        said.contains("http://127.0.0.1:9 does not answer ("),
        "{said}"
    );
    assert!(said.contains("up to 2 s"), "{said}");
    assert!(took >= Duration::from_secs(2), "{took:?}: {said}");
    let (said, _) = asked("0");
    assert!(!said.contains("waiting"), "{said}");
    let (said, _) = asked("soon");
    assert!(
        said.contains("TSQL_RETRY_S=`soon` is no number of seconds"),
        "{said}"
    );
    // What is said of the bucket counts more.
    place.write("tsql.toml", "[bucket.nowhere]\nretry_s = 0\n");
    let (said, _) = asked("3600");
    assert!(!said.contains("waiting"), "{said}");
}

/// The first Ctrl-C ends the waiting of a command that would end cleanly.
#[cfg(unix)]
#[test]
fn waiting_ends_with_ctrl_c() {
    let place = Place::new();
    place.write("p/a.json", log(1, 5));
    let mut command = place.s3("http://127.0.0.1:9", "s3://nowhere/s", &["ingest", "p"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert!(first.contains("waiting for it, up to 120 s"), "{first}");
    let begun = Instant::now();
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

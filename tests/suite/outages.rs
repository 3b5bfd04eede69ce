//! Unavailable servers: commands wait, report the wait, and give up after the retry limit.

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

/// Reads the error output of a command until it reports that it waits for the server.
fn wait_for_retry(child: &mut Child) -> BufReader<ChildStderr> {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("does not respond (") {
        let more = stderr.read_line(&mut text).unwrap();
        assert_ne!(more, 0, "it did not wait: {text}");
    }
    stderr
}

/// Returns the output of a command that had to wait. `stderr` is the rest of its error output.
fn finish_after_retry(child: Child, mut stderr: BufReader<ChildStderr>) -> String {
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("responds again after "), "{text}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "full tier"]
fn commands_wait_for_a_restarted_server() {
    let Some(mut server) = Weed::own() else {
        return;
    };
    let (place, url) = (Place::new(), server.url());
    place.write("p/a.json", log(1, 50));
    let first = begin(&place, &server, &url, &["ingest", "-q", "p"]);
    assert!(first.wait_with_output().unwrap().status.success());
    place.write("p/b.json", log(100, 70));
    let sql = "SELECT count(*) FROM records";
    for args in [&["ingest", "-q", "p"][..], &[sql], &["check"]] {
        server.stop();
        // Without cached log tails.
        let _ = std::fs::remove_dir_all(place.path().join("cache/tails"));
        let mut child = begin(&place, &server, &url, args);
        let stderr = wait_for_retry(&mut child);
        server.start_again();
        let result = finish_after_retry(child, stderr);
        if args == [sql] {
            assert_eq!(result, "count(*)\n120\n");
        }
    }
    // Within a stream, between two commit groups.
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
    let stderr = wait_for_retry(&mut child);
    server.start_again();
    let mut rest = String::new();
    acknowledged.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"lines\":40"), "{rest}");
    finish_after_retry(child, stderr);
    let query = begin(&place, &server, &url, &[sql]);
    let result = query.wait_with_output().unwrap();
    assert_eq!(result.stdout, b"count(*)\n160\n");
}

#[test]
fn retries_of_an_unreachable_server_end() {
    let place = Place::new();
    let run = |patience: &str| {
        let mut command = place.s3("http://127.0.0.1:9", "s3://nowhere/s", &["SELECT 1"]);
        let start = Instant::now();
        let output = command.env("TSQL_RETRY_S", patience).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        (stderr, start.elapsed())
    };
    let (stderr, elapsed) = run("2");
    assert!(
        stderr.contains("http://127.0.0.1:9 does not respond ("),
        "{stderr}"
    );
    assert!(stderr.contains("up to 2 s"), "{stderr}");
    assert!(elapsed >= Duration::from_secs(2), "{elapsed:?}: {stderr}");
    let (stderr, _) = run("0");
    assert!(!stderr.contains("waiting"), "{stderr}");
    let (stderr, _) = run("soon");
    assert!(
        stderr.contains("TSQL_RETRY_S=`soon` is not a number of seconds"),
        "{stderr}"
    );
    // Settings of the bucket override the environment.
    place.write("tsql.toml", "[bucket.nowhere]\nretry_s = 0\n");
    let (stderr, _) = run("3600");
    assert!(!stderr.contains("waiting"), "{stderr}");
}

/// The first Ctrl-C ends the wait of a command that otherwise ends cleanly.
#[cfg(unix)]
#[test]
fn waiting_ends_with_ctrl_c() {
    let place = Place::new();
    place.write("p/a.json", log(1, 5));
    let mut command = place.s3("http://127.0.0.1:9", "s3://nowhere/s", &["ingest", "p"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    assert!(first.contains("waiting up to 120 s"), "{first}");
    let start = Instant::now();
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(60));
}

//! Safety of output: names with control characters, secrets in URLs, and the metadata service for credentials.

use crate::support::Place;

const COUNT: &str = "SELECT count(*) FROM records";

#[test]
fn names_cannot_control_the_terminal() {
    let place = Place::new();
    place.ok(&["init"]);
    let name = "größe\u{1b}]0;owned\u{7}\u{9b}2J.json";
    place.write(&format!("logs/{name}"), "no record\n");
    place.write(&format!("logs/{name}.txt"), "no log\n");
    let ran = place.tsql(&["ingest", "logs", "--platform", "p"]);
    assert!(
        ran.stderr
            .contains("größe\\u{1b}]0;owned\\u{7}\\u{9b}2J.json"),
        "{}",
        ran.stderr
    );
    let ran_again = place.tsql(&["ingest", "logs/\u{1b}[31m.json", "--platform", "p"]);
    let sql = place.tsql(&["SELECT * FROM \"\u{1b}[31m\""]);
    let platform = place.tsql(&["ingest", "logs", "--platform", "\u{1b}[31m"]);
    for stderr in [ran.stderr, ran_again.stderr, sql.stderr, platform.stderr] {
        let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!stderr.is_empty() && !stderr.contains(steers), "{stderr:?}");
    }
    let table = place
        .ok(&["SELECT name FROM files", "--format", "table"])
        .stdout;
    assert!(!table.contains('\u{1b}'), "{table:?}");
}

#[test]
fn secrets_in_urls_are_not_printed() {
    let place = Place::new();
    place.ok(&["init"]);
    let hidden = |stderr: &str| {
        assert!(!stderr.contains("notthesecret"), "{stderr}");
        assert!(stderr.contains("error: "), "{stderr}");
    };
    let signed = "http://127.0.0.1:9/a/log.json?sig=notthesecret&X-Amz-Signature=notthesecret";
    let user = "http://me:notthesecret@127.0.0.1:9/a/log.json";
    for url in [signed, user] {
        for args in [
            &["ingest", url, "--platform", "p"][..],
            &["--store", url, COUNT],
            &["--store", url, "ingest", "x.json", "--platform", "p"],
            &[&format!("SELECT * FROM '{url}'")],
            &[&format!("COPY (SELECT 1) TO '{url}'")],
        ] {
            let ran = place.tsql(args);
            assert_ne!(ran.code, Some(0), "{args:?}");
            hidden(&ran.stderr);
        }
    }
    let rows = place.rows("SELECT * FROM sources");
    assert!(!rows.concat().contains("notthesecret"), "{rows:?}");
}

/// The service gets one short request, and the error reports it.
#[test]
fn an_unresponsive_metadata_service_is_reported() {
    let place = Place::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let run = |disabled: bool| {
        let mut command = place.command(&["--store", "s3://measurements/x", COUNT]);
        command
            .env("HOME", place.path())
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &endpoint);
        if disabled {
            command.env("AWS_EC2_METADATA_DISABLED", "true");
        }
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("hint: set AWS_ACCESS_KEY_ID"), "{stderr}");
        let requests = std::iter::from_fn(|| silent.accept().ok()).count();
        (stderr, requests)
    };
    let (stderr, requests) = run(false);
    assert!(
        stderr.contains(
            "metadata service of this machine (169.254.169.254) returned none within 1 s"
        ),
        "{stderr}"
    );
    assert!((1..=2).contains(&requests), "{requests} requests");
    let (stderr, requests) = run(true);
    assert!(!stderr.contains("169.254"), "{stderr}");
    assert_eq!(requests, 0);
}

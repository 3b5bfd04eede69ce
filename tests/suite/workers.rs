//! Distributed queries: results do not change if workers are lost.
//!
//! `TSQL_TEST_FAULTS=200` runs more faults.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
#[cfg(feature = "s3")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::{Duration, Instant};

use crate::support::{Place, log, wanted};

/// Timeout for a result or an error.
const SOON: Duration = Duration::from_secs(15);

/// Query with stages of every kind.
const GROUPS: &str = "SELECT platform, count(*), round(sum(a), 3), round(median(runtime_ns), 3) FROM (SELECT platform, runtime_ns, \
                      unnest(repeats_ns) AS a FROM records) GROUP BY platform ORDER BY platform";

/// Slow query over pairs of records.
const PAIRS: &str =
    "SELECT count(*) FROM records a JOIN records b ON a.runtime_ns + 0.5 < b.runtime_ns";

/// Returns a store of three platforms.
fn store() -> Place {
    let place = Place::new();
    for (number, platform) in ["k80", "t4", "a100"].into_iter().enumerate() {
        let first = 10_000 * u32::try_from(number).unwrap();
        for file in 0..2 {
            place.write(
                &format!("logs/{platform}/{file}.json"),
                log(first + 1000 * file, 1000),
            );
        }
    }
    place.ok(&["ingest", "logs"]);
    place
}

/// Running worker.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.strip_prefix("worker listens on ");
        let address = address.and_then(|rest| rest.split_once(", "));
        let address = address.unwrap_or_else(|| panic!("{line}")).0.to_owned();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address }
    }

    fn for_store(place: &Place) -> Self {
        Self::start(&mut place.command(&["worker", "--listen", "127.0.0.1:0"]))
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Returns the HTTP response of the worker.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// Returns the number of stage tasks that the worker runs.
    fn running(&self) -> u64 {
        let status = self.get("/status");
        let (_, rest) = status.split_once(r#""running":"#).unwrap();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap();
        rest[..digits].parse().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn list<'a>(workers: impl IntoIterator<Item = &'a Worker>) -> String {
    let addresses = workers.into_iter().map(|worker| worker.address.as_str());
    addresses.collect::<Vec<_>>().join(",")
}

/// Returns a query command that uses workers for any number of rows.
fn worker_command(place: &Place, workers: &str, sql: &str) -> Command {
    let mut command = place.command(&["--workers", workers, "--stats", sql]);
    command
        .env("TSQL_WORKERS_LEAST_ROWS", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a query on workers. Returns its rows and its error output.
fn run_on_workers(place: &Place, workers: &str, sql: &str) -> (String, String) {
    let done = worker_command(place, workers, sql).output().unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{sql}: {stderr}");
    (String::from_utf8(done.stdout).unwrap(), stderr)
}

/// Waits until a worker runs a stage task.
fn wait_until_busy(workers: &[Worker]) {
    let start = Instant::now();
    while workers.iter().all(|worker| worker.running() == 0) {
        assert!(start.elapsed() < SOON, "nothing was sent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until_idle<'a>(workers: impl IntoIterator<Item = &'a Worker>) {
    let workers: Vec<&Worker> = workers.into_iter().collect();
    let start = Instant::now();
    while workers.iter().any(|worker| worker.running() > 0) {
        assert!(start.elapsed() < SOON, "an abandoned query still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "full tier"]
fn workers_return_results_while_the_store_changes() {
    let place = store();
    let workers: Vec<Worker> = (0..3).map(|_| Worker::for_store(&place)).collect();
    let all = list(&workers);
    let alone = place.ok(&[GROUPS]).stdout;
    let (rows, stderr) = run_on_workers(&place, &all, GROUPS);
    assert_eq!(rows, alone);
    assert!(stderr.contains("sent to 3 workers"), "{stderr}");
    let (plan, _) = run_on_workers(&place, &all, &format!("EXPLAIN {GROUPS}"));
    assert!(
        plan.contains("Stage 2") && plan.contains("tasks=3"),
        "{plan}"
    );
    // An earlier version, with files that are no longer in the newest version.
    place.ok(&["optimize"]);
    place.write("logs/k80/more.json", log(5000, 100));
    place.ok(&["ingest", "logs"]);
    let now = place.ok(&[GROUPS]).stdout;
    assert_ne!(now, alone);
    let (rows, stderr) = run_on_workers(&place, &all, GROUPS);
    assert_eq!(rows, now);
    assert!(stderr.contains("sent to 3 workers"), "{stderr}");
    let history = place.ok(&["history", "--format", "csv"]).stdout;
    let first = history.lines().rfind(|line| line.contains("records"));
    let version: Vec<&str> = first.unwrap().split(',').collect();
    let at = format!(
        "records@{}",
        version
            .iter()
            .find(|part| part.parse::<u64>().is_ok())
            .unwrap()
    );
    let then = place.ok(&["--at", &at, GROUPS]).stdout;
    let done = worker_command(&place, &all, GROUPS)
        .args(["--at", &at])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), then);
    let status = place.ok(&["workers", "status", "--workers", &all]).stdout;
    assert_eq!(status.lines().count(), 4, "{status}");
    let metrics = workers[0].get("/metrics");
    assert!(metrics.contains("tsql_worker_tasks_total"), "{metrics}");
    assert!(workers[0].get("/health").starts_with("HTTP/1.1 200"));
    // Queries of few rows run locally.
    let usual = place.ok(&["--workers", &all, "--stats", GROUPS]);
    assert_eq!(usual.stdout, now);
    assert!(
        usual.stderr.contains("ran here: it reads about 6"),
        "{}",
        usual.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn a_lost_worker_is_replaced() {
    let place = store();
    let alone = place.ok(&[PAIRS]).stdout;
    let mut workers: Vec<Worker> = (0..3).map(|_| Worker::for_store(&place)).collect();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = free.local_addr().unwrap().to_string();
    drop(free);
    let all = format!("{},{dead}", list(&workers));
    let faults = wanted("TSQL_TEST_FAULTS", 3);
    let mut random = fastrand::Rng::with_seed(3);
    let mut lost = 0;
    for fault in 0..faults {
        let child = worker_command(&place, &list(&workers), PAIRS)
            .spawn()
            .unwrap();
        wait_until_busy(&workers);
        std::thread::sleep(Duration::from_millis(random.u64(0..300)));
        let victim = random.usize(0..3);
        let start = Instant::now();
        let stops = fault % 3 == 1;
        workers[victim].signal(if stops { "-STOP" } else { "-KILL" });
        let done = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(String::from_utf8_lossy(&done.stdout), alone, "{stderr}");
        assert!(
            start.elapsed() < SOON * 2,
            "{:?}: {stderr}",
            start.elapsed()
        );
        lost += u64::from(stderr.contains("was lost"));
        workers[victim] = Worker::for_store(&place);
    }
    assert!(lost > 0, "no fault came in time");
    let (rows, stderr) = run_on_workers(&place, &all, PAIRS);
    assert_eq!(rows, alone);
    assert!(stderr.contains(&format!("{dead}/ is not used")), "{stderr}");
    // A terminated worker finishes its running tasks.
    let child = worker_command(&place, &list(&workers), PAIRS)
        .spawn()
        .unwrap();
    wait_until_busy(&workers);
    workers[0].signal("-TERM");
    let done = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(String::from_utf8_lossy(&done.stdout), alone, "{stderr}");
    assert_eq!(workers[0].child.wait().unwrap().code(), Some(0));
}

#[test]
fn losing_a_worker_after_the_first_row_is_an_error() {
    let place = store();
    let workers: Vec<Worker> = (0..3).map(|_| Worker::for_store(&place)).collect();
    // More rows than pipes and connections buffer: workers wait for the reader.
    let many = "SELECT a.line AS a, b.line AS b, a.repeats_ns FROM records a JOIN records b ON a.runtime_ns + 0.5 < b.runtime_ns";
    let all = place.ok(&[&format!("SELECT count(*) FROM ({many})"), "--format", "csv"]);
    let all: usize = all.stdout.lines().nth(1).unwrap().parse().unwrap();
    let mut command = worker_command(&place, &list(&workers), many);
    let mut child = command.args(["--format", "csv"]).spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        rows.read_line(&mut line).unwrap();
    }
    workers[1].signal("-KILL");
    let got = 1 + rows.lines().map_while(Result::ok).count();
    let done = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{stderr}");
    let named = format!("no answer from the worker http://{}", workers[1].address);
    assert!(stderr.contains(&named), "{stderr}");
    assert!(got < all, "{got} of {all} rows");
    wait_until_idle([&workers[0], &workers[2]]);
}

#[test]
fn abandoned_queries_stop_on_workers() {
    let place = store();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::for_store(&place)).collect();
    let mut child = worker_command(&place, &list(&workers), PAIRS)
        .spawn()
        .unwrap();
    wait_until_busy(&workers);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_idle(&workers);
    let (rows, _) = run_on_workers(&place, &list(&workers), GROUPS);
    assert_eq!(rows, place.ok(&[GROUPS]).stdout);
}

#[test]
fn clients_without_a_valid_certificate_are_rejected() {
    let place = store();
    let Some(()) = certificates(place.path()) else {
        eprintln!("skipped: no openssl");
        return;
    };
    let tls = |command: &mut Command, name: &str| {
        command
            .env("TSQL_TLS_CERT", format!("{name}.pem"))
            .env("TSQL_TLS_KEY", format!("{name}.key"))
            .env("TSQL_TLS_CA", "ca.pem")
            .env("TSQL_TLS_NAME", "workers.test");
    };
    let workers: Vec<Worker> = (0..2)
        .map(|_| {
            let mut command = place.command(&["worker", "--listen", "0.0.0.0:0"]);
            tls(&mut command, "own");
            Worker::start(&mut command)
        })
        .collect();
    let all = list(&workers).replace("0.0.0.0", "127.0.0.1");
    let mut command = worker_command(&place, &all, GROUPS);
    tls(&mut command, "own");
    let done = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        place.ok(&[GROUPS]).stdout
    );
    assert!(stderr.contains("sent to 2 workers"), "{stderr}");
    for stranger in ["", "strange"] {
        let mut command = worker_command(&place, &all, GROUPS);
        if !stranger.is_empty() {
            tls(&mut command, stranger);
        }
        let stderr = command.output().unwrap().stderr;
        let stderr = String::from_utf8_lossy(&stderr);
        assert!(stderr.contains("no worker responds"), "{stderr}");
    }
}

/// Creates an authority, a certificate of it, and a certificate of another one. Returns `None` without openssl.
pub(crate) fn certificates(folder: &Path) -> Option<()> {
    let run = |line: &str| {
        let done = Command::new("openssl")
            .args(line.split(' '))
            .current_dir(folder)
            .output()
            .ok()?;
        assert!(
            done.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        Some(())
    };
    for (authority, name) in [("ca", "own"), ("other", "strange")] {
        let new = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority";
        run(&format!(
            "{new} -keyout {authority}.key -out {authority}.pem"
        ))?;
        run(&format!(
            "req -newkey rsa:2048 -nodes -subj /CN=worker -keyout {name}.key -out {name}.csr"
        ))?;
        std::fs::write(folder.join("names"), "subjectAltName=DNS:workers.test").unwrap();
        run(&format!(
            "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 2 \
             -extfile names -out {name}.pem"
        ))?;
    }
    Some(())
}

#[test]
#[ignore = "full tier"]
fn ingest_shards_equal_one_whole_ingest() {
    let whole = store();
    let parts = Place::new();
    let from = whole.path().join("logs");
    let from = from.to_str().unwrap();
    parts.ok(&["init"]);
    let children: Vec<Child> = (1..=3)
        .map(|part| {
            let part = format!("{part}/3");
            let mut command = parts.command(&["ingest", "--quiet", "--part", &part, from]);
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(parts.ok(&[GROUPS]).stdout, whole.ok(&[GROUPS]).stdout);
    parts.ok(&["check"]);
    for part in ["1/2", "2/2"] {
        parts.ok(&["optimize", "--part", part]);
    }
    assert_eq!(parts.ok(&[GROUPS]).stdout, whole.ok(&[GROUPS]).stdout);
    // There is no more work for `optimize`.
    let again = parts.ok(&["optimize"]).stderr;
    assert!(again.starts_with("0 files"), "{again}");
    let ran = parts.tsql(&["ingest", "--part", "4/3", from]);
    assert!(ran.stderr.contains("expected 1/3 to 3/3"), "{}", ran.stderr);
}

/// Returns the number of requests of a worker to the bucket.
#[cfg(feature = "s3")]
fn requests(worker: &Worker) -> u64 {
    let metrics = worker.get("/metrics");
    let counted = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tsql_worker_store_requests_total "));
    counted.unwrap().parse().unwrap()
}

#[cfg(feature = "s3")]
#[test]
#[ignore = "full tier"]
fn workers_read_a_bucket_no_more_often_than_one_machine() {
    use crate::weed::{BUCKET, weed};
    let Some(weed) = weed() else { return };
    let (endpoint, url) = (weed.endpoint(), format!("s3://{BUCKET}/workers"));
    let place = store();
    let run = |args: &[&str]| {
        let mut command = place.s3(&endpoint, &url, args);
        let done = command
            .env("TSQL_WORKERS_LEAST_ROWS", "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}: {stderr}");
        (String::from_utf8(done.stdout).unwrap(), stderr)
    };
    run(&["ingest", "logs"]);
    run(&["optimize"]);
    let start =
        || Worker::start(&mut place.s3(&endpoint, &url, &["worker", "--listen", "127.0.0.1:0"]));
    let workers: Vec<Worker> = (0..3).map(|_| start()).collect();
    let all = list(&workers);
    let mut counts = Vec::new();
    for _ in 0..3 {
        let (alone, stderr) = run(&["--stats", GROUPS]);
        let gets = stderr
            .split("requests: ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let before: u64 = workers.iter().map(requests).sum();
        let (rows, stderr) = run(&["--stats", "--workers", &all, GROUPS]);
        assert_eq!(rows, alone);
        assert!(stderr.contains("sent to 3 workers"), "{stderr}");
        let requested = workers.iter().map(requests).sum::<u64>() - before;
        counts.push((requested, gets.unwrap().parse::<u64>().unwrap()));
    }
    // Workers read logs once, and then only rows. Small files are cached completely.
    assert!(counts[0].0 > 0, "{counts:?}");
    assert!(
        counts[1..]
            .iter()
            .all(|(requested, alone)| requested <= alone),
        "{counts:?}"
    );
    // A worker that loses its connection to the bucket: others read in its place.
    let stalls = Arc::new(AtomicBool::new(false));
    let port = weed.endpoint().rsplit(':').next().unwrap().parse().unwrap();
    let endpoint = format!("http://127.0.0.1:{}", forwarded(port, &stalls));
    let mut command = place.s3(&endpoint, &url, &["worker", "--listen", "127.0.0.1:0"]);
    let stalled = Worker::start(command.env("TSQL_CACHE", place.path().join("another")));
    stalls.store(true, Ordering::Relaxed);
    let (alone, _) = run(&[GROUPS]);
    let all = list(workers[..2].iter().chain([&stalled]));
    let since = Instant::now();
    let (rows, stderr) = run(&["--stats", "--workers", &all, GROUPS]);
    assert_eq!(rows, alone);
    assert!(stderr.contains("was lost"), "{stderr}");
    assert!(
        since.elapsed() < SOON * 2,
        "{:?}: {stderr}",
        since.elapsed()
    );
}

/// Starts a proxy that forwards bytes to another port, unless it stalls. Returns its port.
#[cfg(feature = "s3")]
fn forwarded(to: u16, stalls: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stalls = Arc::clone(stalls);
    std::thread::spawn(move || {
        for from in listener.incoming().map_while(Result::ok) {
            let to = TcpStream::connect(("127.0.0.1", to)).unwrap();
            for (mut one, mut other) in [
                (from.try_clone().unwrap(), to.try_clone().unwrap()),
                (to, from),
            ] {
                let stalls = Arc::clone(&stalls);
                std::thread::spawn(move || {
                    let mut bytes = vec![0; 1 << 16];
                    while let Ok(count @ 1..) = one.read(&mut bytes) {
                        while stalls.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(100));
                        }
                        if other.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = other.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    port
}

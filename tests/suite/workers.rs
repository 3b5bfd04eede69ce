//! Questions that several machines answer: the same answers, whatever happens to a worker meanwhile.
//!
//! `TSQL_TEST_FAULTS=200` asks for so many of them.

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

/// Within this time there is an answer, or a sentence.
const SOON: Duration = Duration::from_secs(15);

/// A question with stages of every kind.
const GROUPS: &str = "SELECT platform, count(*), round(sum(a), 3), round(median(runtime_ns), 3) FROM (SELECT platform, runtime_ns, \
                      unnest(repeats_ns) AS a FROM records) GROUP BY platform ORDER BY platform";

/// One that takes a while: pairs of records.
const PAIRS: &str =
    "SELECT count(*) FROM records a JOIN records b ON a.runtime_ns + 0.5 < b.runtime_ns";

/// A store of three platforms.
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

/// A worker that runs.
struct Worker {
    child: Child,
    address: String,
}

impl Worker {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.strip_prefix("worker listens on ");
        let address = address.and_then(|rest| rest.split_once(", "));
        let address = address.unwrap_or_else(|| panic!("{line}")).0.to_owned();
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }

    fn of(place: &Place) -> Self {
        Self::start(&mut place.command(&["worker", "--listen", "127.0.0.1:0"]))
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// What it answers over HTTP.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Parts of questions that it runs now.
    fn running(&self) -> u64 {
        let answer = self.get("/status");
        let (_, rest) = answer.split_once(r#""running":"#).unwrap();
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

/// A question that goes to workers, whatever it reads.
fn asking(place: &Place, workers: &str, sql: &str) -> Command {
    let mut command = place.command(&["--workers", workers, "--stats", sql]);
    command
        .env("TSQL_WORKERS_LEAST_ROWS", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Its rows, and what was said.
fn asked(place: &Place, workers: &str, sql: &str) -> (String, String) {
    let done = asking(place, workers, sql).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{sql}: {said}");
    (String::from_utf8(done.stdout).unwrap(), said)
}

/// Waits until a worker is at work.
fn wait_until_busy(workers: &[Worker]) {
    let begun = Instant::now();
    while workers.iter().all(|worker| worker.running() == 0) {
        assert!(begun.elapsed() < SOON, "nothing was sent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until_idle<'a>(workers: impl IntoIterator<Item = &'a Worker>) {
    let workers: Vec<&Worker> = workers.into_iter().collect();
    let begun = Instant::now();
    while workers.iter().any(|worker| worker.running() > 0) {
        assert!(begun.elapsed() < SOON, "work goes on that nobody waits for");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn workers_answer_while_the_store_changes() {
    let place = store();
    let workers: Vec<Worker> = (0..3).map(|_| Worker::of(&place)).collect();
    let all = list(&workers);
    let alone = place.ok(&[GROUPS]).stdout;
    let (rows, said) = asked(&place, &all, GROUPS);
    assert_eq!(rows, alone);
    assert!(said.contains("sent to 3 workers"), "{said}");
    let (plan, _) = asked(&place, &all, &format!("EXPLAIN {GROUPS}"));
    assert!(
        plan.contains("Stage 2") && plan.contains("tasks=3"),
        "{plan}"
    );
    // What was: files that were merged, and are gone from the newest version.
    place.ok(&["optimize"]);
    place.write("logs/k80/more.json", log(5000, 100));
    place.ok(&["ingest", "logs"]);
    let now = place.ok(&[GROUPS]).stdout;
    assert_ne!(now, alone);
    let (rows, said) = asked(&place, &all, GROUPS);
    assert_eq!(rows, now);
    assert!(said.contains("sent to 3 workers"), "{said}");
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
    let done = asking(&place, &all, GROUPS)
        .args(["--at", &at])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), then);
    let status = place.ok(&["workers", "status", "--workers", &all]).stdout;
    assert_eq!(status.lines().count(), 4, "{status}");
    let metrics = workers[0].get("/metrics");
    assert!(metrics.contains("tsql_worker_tasks_total"), "{metrics}");
    assert!(workers[0].get("/health").starts_with("HTTP/1.1 200"));
    // Few rows are read faster than anybody is asked.
    let usual = place.ok(&["--workers", &all, "--stats", GROUPS]);
    assert_eq!(usual.stdout, now);
    assert!(
        usual.stderr.contains("ran here: about 6"),
        "{}",
        usual.stderr
    );
}

#[test]
fn a_worker_that_is_lost_is_replaced() {
    let place = store();
    let alone = place.ok(&[PAIRS]).stdout;
    let mut workers: Vec<Worker> = (0..3).map(|_| Worker::of(&place)).collect();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = free.local_addr().unwrap().to_string();
    drop(free);
    let all = format!("{},{dead}", list(&workers));
    let faults = wanted("TSQL_TEST_FAULTS", 3);
    let mut random = fastrand::Rng::with_seed(3);
    let mut lost = 0;
    for fault in 0..faults {
        let child = asking(&place, &list(&workers), PAIRS).spawn().unwrap();
        wait_until_busy(&workers);
        std::thread::sleep(Duration::from_millis(random.u64(0..300)));
        let victim = random.usize(0..3);
        let begun = Instant::now();
        let stops = fault % 3 == 1;
        workers[victim].signal(if stops { "-STOP" } else { "-KILL" });
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(String::from_utf8_lossy(&done.stdout), alone, "{said}");
        assert!(begun.elapsed() < SOON * 2, "{:?}: {said}", begun.elapsed());
        lost += u64::from(said.contains("was lost"));
        workers[victim] = Worker::of(&place);
    }
    assert!(lost > 0, "no fault came in time");
    let (rows, said) = asked(&place, &all, PAIRS);
    assert_eq!(rows, alone);
    assert!(said.contains(&format!("{dead}/ is left out")), "{said}");
    // The usual end of a worker: it finishes what runs.
    let child = asking(&place, &list(&workers), PAIRS).spawn().unwrap();
    wait_until_busy(&workers);
    workers[0].signal("-TERM");
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(String::from_utf8_lossy(&done.stdout), alone, "{said}");
    assert_eq!(workers[0].child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_worker_that_is_lost_after_the_first_row_is_an_error() {
    let place = store();
    let workers: Vec<Worker> = (0..3).map(|_| Worker::of(&place)).collect();
    // More than pipes and connections hold: the workers wait for whoever reads.
    let many = "SELECT a.line AS a, b.line AS b, a.repeats_ns FROM records a JOIN records b ON a.runtime_ns + 0.5 < b.runtime_ns";
    let all = place.ok(&[&format!("SELECT count(*) FROM ({many})"), "--format", "csv"]);
    let all: usize = all.stdout.lines().nth(1).unwrap().parse().unwrap();
    let mut command = asking(&place, &list(&workers), many);
    let mut child = command.args(["--format", "csv"]).spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..2 {
        rows.read_line(&mut line).unwrap();
    }
    workers[1].signal("-KILL");
    let got = 1 + rows.lines().map_while(Result::ok).count();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    let named = format!("no answer from the worker http://{}", workers[1].address);
    assert!(said.contains(&named), "{said}");
    assert!(got < all, "{got} of {all} rows");
    wait_until_idle([&workers[0], &workers[2]]);
}

#[test]
fn nothing_goes_on_when_nobody_waits() {
    let place = store();
    let workers: Vec<Worker> = (0..2).map(|_| Worker::of(&place)).collect();
    let mut child = asking(&place, &list(&workers), PAIRS).spawn().unwrap();
    wait_until_busy(&workers);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_idle(&workers);
    let (rows, _) = asked(&place, &list(&workers), GROUPS);
    assert_eq!(rows, place.ok(&[GROUPS]).stdout);
}

#[test]
fn certificates_keep_strangers_out() {
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
    let mut command = asking(&place, &all, GROUPS);
    tls(&mut command, "own");
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        place.ok(&[GROUPS]).stdout
    );
    assert!(said.contains("sent to 2 workers"), "{said}");
    for stranger in ["", "strange"] {
        let mut command = asking(&place, &all, GROUPS);
        if !stranger.is_empty() {
            tls(&mut command, stranger);
        }
        let said = command.output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("no worker answers"), "{said}");
    }
}

/// An authority, a certificate of it, and one of another; `None` where nothing can make them.
fn certificates(folder: &Path) -> Option<()> {
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
fn parts_of_an_ingest_make_the_store_of_the_whole() {
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
    // Nothing is left to do.
    let again = parts.ok(&["optimize"]).stderr;
    assert!(again.starts_with("0 files"), "{again}");
    let refused = parts.tsql(&["ingest", "--part", "4/3", from]);
    assert!(
        refused.stderr.contains("parts are 1/3 to 3/3"),
        "{}",
        refused.stderr
    );
}

/// Requests that a worker has made of the bucket.
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
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}: {said}");
        (String::from_utf8(done.stdout).unwrap(), said)
    };
    run(&["ingest", "logs"]);
    run(&["optimize"]);
    let start =
        || Worker::start(&mut place.s3(&endpoint, &url, &["worker", "--listen", "127.0.0.1:0"]));
    let workers: Vec<Worker> = (0..3).map(|_| start()).collect();
    let all = list(&workers);
    let mut counts = Vec::new();
    for _ in 0..3 {
        let (alone, said) = run(&["--stats", GROUPS]);
        let gets = said
            .split("requests: ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let before: u64 = workers.iter().map(requests).sum();
        let (rows, said) = run(&["--stats", "--workers", &all, GROUPS]);
        assert_eq!(rows, alone);
        assert!(said.contains("sent to 3 workers"), "{said}");
        let asked = workers.iter().map(requests).sum::<u64>() - before;
        counts.push((asked, gets.unwrap().parse::<u64>().unwrap()));
    }
    // They read logs once, and then nothing but rows, of which small files keep all.
    assert!(counts[0].0 > 0, "{counts:?}");
    assert!(
        counts[1..].iter().all(|(asked, alone)| asked <= alone),
        "{counts:?}"
    );
    // One whose way to the bucket ends somewhere: others read in its place.
    let stalls = Arc::new(AtomicBool::new(false));
    let port = weed.endpoint().rsplit(':').next().unwrap().parse().unwrap();
    let endpoint = format!("http://127.0.0.1:{}", forwarded(port, &stalls));
    let mut command = place.s3(&endpoint, &url, &["worker", "--listen", "127.0.0.1:0"]);
    let stalled = Worker::start(command.env("TSQL_CACHE", place.path().join("another")));
    stalls.store(true, Ordering::Relaxed);
    let (alone, _) = run(&[GROUPS]);
    let all = list(workers[..2].iter().chain([&stalled]));
    let begun = Instant::now();
    let (rows, said) = run(&["--stats", "--workers", &all, GROUPS]);
    assert_eq!(rows, alone);
    assert!(said.contains("was lost"), "{said}");
    assert!(begun.elapsed() < SOON * 2, "{:?}: {said}", begun.elapsed());
}

/// A port from which bytes go to another one, unless they stall.
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

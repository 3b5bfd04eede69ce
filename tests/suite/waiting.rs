//! Writers that wait for other writers: they report the wait, and it ends.

use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Place, line, log};

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Stops the process while it holds the write queue of a table. Returns the name of the table.
fn stop_in_write_queue(place: &Place, child: &Child) -> String {
    let queues = place.path().join(".tsql/.queues");
    let start = Instant::now();
    loop {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it never held a turn"
        );
        for entry in std::fs::read_dir(&queues).into_iter().flatten().flatten() {
            // A holder writes its process id after it has the lock, so it can be stopped before it has a name.
            let holder = format!("{} ", child.id());
            let is_held = || {
                File::open(entry.path()).is_ok_and(|file| file.try_lock().is_err())
                    && std::fs::read_to_string(entry.path())
                        .is_ok_and(|text| text.starts_with(&holder))
            };
            if !is_held() {
                continue;
            }
            signal(child, "-STOP");
            std::thread::sleep(Duration::from_millis(20));
            if is_held() {
                return entry.file_name().into_string().unwrap();
            }
            signal(child, "-CONT");
        }
    }
}

#[test]
#[ignore = "full tier"]
fn a_stopped_writer_does_not_block_others() {
    let place = Place::new();
    place.ok(&["init"]);
    let stream = [
        "append",
        "--stream",
        "s",
        "--platform",
        "p",
        "--rows",
        "1",
        "--every",
        "1ms",
    ];
    let mut child = place
        .command(&stream)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String = (1..=20).map(|tile| line(tile, "0.001") + "\n").collect();
    let feeder = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let table = stop_in_write_queue(&place, &child);
    place.write("q/b.json", log(1000, 50));
    let start = Instant::now();
    let ran = place.ok(&["ingest", "q"]);
    let seconds = start.elapsed().as_secs();
    assert!(seconds < 60, "{seconds} s");
    let expected = format!(
        "waiting for process {}, which writes to {table}",
        child.id()
    );
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("is it stopped?"), "{}", ran.stderr);
    assert_eq!(
        place.rows("SELECT count(*) FROM records WHERE platform = 'q'"),
        ["50"]
    );
    // The stopped writer continues.
    signal(&child, "-CONT");
    feeder.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    let counts =
        "SELECT platform, count(*), count(DISTINCT line) FROM records GROUP BY 1 ORDER BY 1";
    assert_eq!(place.rows(counts), ["p,20,20", "q,50,50"]);
    place.assert_sound(&["q/b.json"]);
}

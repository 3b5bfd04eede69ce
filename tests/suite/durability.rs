//! Durability: acknowledged data is on the disk, and a power cut at any moment leaves a valid store.

use std::process::Command;

use crate::support::{Place, log};

/// System calls of the command: every file gets its name after its bytes are synced, and its folder is synced
/// afterwards.
#[test]
fn a_file_is_synced_before_it_gets_its_name() {
    let place = Place::new();
    place.write("p/a.json", log(1, 20));
    let trace = place.path().join("trace");
    let traced = Command::new("strace")
        .args([
            "-f",
            "-y",
            "-e",
            "trace=fsync,link,linkat,rename,renameat,renameat2",
            "-o",
        ])
        .arg(&trace)
        .args([env!("CARGO_BIN_EXE_tsql"), "ingest", "-q", "p"])
        .current_dir(place.path())
        .env_clear()
        .output();
    if !traced.is_ok_and(|traced| traced.status.success()) {
        eprintln!("skipped: no strace that may look");
        return;
    }
    let trace = String::from_utf8_lossy(&std::fs::read(trace).unwrap()).into_owned();
    let lines: Vec<&str> = trace.lines().collect();
    let synced = |lines: &[&str], path: &str| {
        let wanted = format!("<{path}>");
        lines
            .iter()
            .any(|line| line.contains("fsync(") && line.contains(&wanted))
    };
    let mut entries = 0;
    for (at, line) in lines.iter().enumerate() {
        let mut quoted = line.split('"').skip(1).step_by(2);
        let (Some(staged), Some(named)) = (quoted.next(), quoted.next()) else {
            continue;
        };
        if !named.contains("/.tsql/") {
            continue;
        }
        assert!(synced(&lines[..at], staged), "not synced before: {line}");
        let folder = named.rsplit_once('/').unwrap().0;
        assert!(
            synced(&lines[at..], folder),
            "its folder is not synced: {line}"
        );
        entries += usize::from(named.ends_with(".json"));
    }
    assert!(entries >= 8, "{entries} entries of logs");
}

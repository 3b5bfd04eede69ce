//! Inputs that can be opened only once, and files that are opened only once.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tsql::{IngestOptions, Store};

use crate::graphnet::own;
use crate::ingest_sources::{gzip, tar};
use crate::metaschedule::workloads;
use crate::mixed_inputs::tree;
use crate::networks::NETWORK;
use crate::npz::{npz, tile_file};
use crate::support::{Place, file_contents, log};

/// Returns a file of each kind that is read as a stream or as a whole, by name.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let (one, two) = (log(1, 5), log(10, 7));
    let kernel = |runtime| npz(&tile_file(2, &[(4.0, runtime, 100.0)]));
    let samples = file_contents(&own().join("samples"));
    let samples: Vec<(&str, &[u8])> = samples
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    let (three, array) = (log(30, 2), kernel(90.0));
    let packed = tar(&[("k80/three.json", three.as_bytes())]);
    vec![
        ("one.json", one.into_bytes()),
        ("two.json.gz", gzip(two.as_bytes())),
        (
            "four.json.zst",
            zstd::encode_all(log(40, 3).as_bytes(), 1).unwrap(),
        ),
        ("net_1.npz", kernel(80.0)),
        ("run.log", fs::read(own().join("logs/run.log")).unwrap()),
        ("database_workload.json", workloads().into_bytes()),
        ("((net,[(1,3)]),cuda).task.pkl", NETWORK.to_vec()),
        ("logs.tar", packed.clone()),
        ("same.tar.gz", gzip(&packed)),
        (
            "npz.tar.gz",
            gzip(&tar(&[("npz/tile/xla/train/net_2.npz", &array)])),
        ),
        ("samples.tar", tar(&samples)),
    ]
}

/// Returns the files of a store with their contents.
fn stored_state(place: &Place) -> Vec<String> {
    place.rows(
        "SELECT dataset, platform, name, compression, content_hash, record_count, line_count FROM files ORDER BY name",
    )
}

#[test]
#[ignore = "full tier"]
fn piped_input_is_stored_like_a_file() {
    let (piped, plain) = (Place::new(), Place::new());
    let kinds = kinds();
    let mut args = vec!["ingest", "--platform", "p"];
    for (name, bytes) in &kinds {
        args.push(name);
        plain.write(name, bytes);
        let path = piped.path().join(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let bytes = bytes.clone();
        // The thread ends after one read of the pipe. A second open would wait for a writer forever.
        std::thread::spawn(move || fs::write(path, bytes).unwrap());
    }
    plain.ok(&args);
    let mut command = piped.command(&args);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it waits for a pipe that was opened before");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    let stored = stored_state(&piped);
    assert_eq!(stored, self::stored_state(&plain));
    let records = "SELECT dataset, count(*) FROM records GROUP BY dataset ORDER BY dataset";
    let wanted = ["graphnet,4", "tenset,17", "tpugraphs,2"];
    assert_eq!(piped.rows(records), wanted);
    piped.ok(&["check"]);
    piped.ok(&["export", "--to", "back"]);
    for (name, bytes) in kinds {
        let path = piped.path().join("back").join(name);
        if name.ends_with(".json") || name.ends_with(".log") || name.ends_with(".pkl") {
            assert!(fs::read(path).unwrap() == bytes, "{name}");
        }
    }
}

#[test]
fn process_substitutions_are_identified_by_content() {
    let place = Place::new();
    place.write("one.json.gz", gzip(log(1, 5).as_bytes()));
    let script = "\"$0\" ingest --platform p <(gzip -dc one.json.gz)";
    let shell = || {
        let ran = Command::new("bash")
            .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
            .current_dir(place.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success(), "{stderr}");
        stderr
    };
    let stderr = shell();
    assert!(stderr.contains("records          5"), "{stderr}");
    let named = place.rows("SELECT name FROM sources");
    assert!(named[0].starts_with("stdin/") && named[0].ends_with(".json"));
    let stderr = shell();
    assert!(stderr.contains("1 already ingested"), "{stderr}");
    let args = ["ingest", "--platform", "p", "-"];
    let stderr = place.tsql_with_input(&args, log(1, 5).as_bytes()).stderr;
    assert!(stderr.contains("1 already ingested"), "{stderr}");
    assert_eq!(place.rows("SELECT name FROM sources"), named);
    // Without a platform the error has a hint.
    let script = "\"$0\" ingest <(gzip -dc one.json.gz)";
    let ran = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_tsql")])
        .current_dir(place.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("its platform is unknown"), "{stderr}");
    assert!(
        stderr.contains("hint: set it with --platform NAME"),
        "{stderr}"
    );
}

/// Files are deleted after their format is detected, so a second open would fail.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_opened_once() {
    let mut reports = Vec::new();
    for removes in [false, true] {
        let place = tree();
        // Files of a sample are detected by name, and opened only once to be read.
        fs::remove_dir_all(place.path().join("tree/samples")).unwrap();
        for (name, bytes) in kinds() {
            if name.contains(".tar") {
                place.write(&format!("tree/{name}"), bytes);
            }
        }
        let inputs = place.path().join("tree");
        let argument = [inputs.display().to_string()];
        let (is_planned, is_gone) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
        let is_removed = Arc::clone(&is_gone);
        // The first progress report has the plan, the next ones have the files.
        let options = IngestOptions::default().platform("p").progress(move |_| {
            let is_read = is_planned.swap(true, Ordering::Relaxed);
            if removes && is_read && !is_removed.swap(true, Ordering::Relaxed) {
                fs::remove_dir_all(&inputs).unwrap();
            }
        });
        let store = Store::create("memory:").await.unwrap();
        let report = store.ingest(&argument, &options).await.unwrap();
        assert!(report.is_clean(), "{:?}", report.failed_files);
        assert_eq!(is_gone.load(Ordering::Relaxed), removes);
        reports.push((report.kinds, report.files, report.records, report.samples));
    }
    assert_eq!(reports[0], reports[1]);
    assert!(reports[0].1 > 20 && reports[0].2 > 15, "{:?}", reports[0]);
}

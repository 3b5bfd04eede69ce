//! One ingest of a tree of all kinds of files: detected formats, requested formats, dry runs.

use std::fs;

use tsql::{IngestOptions, Store};

use crate::autotvm::LINES as AUTOTVM;
use crate::graphnet::own;
use crate::ingest_sources::tar;
use crate::networks::{NETWORK, RELAY};
use crate::npz::{npz, tile_file};
use crate::support::{Place, file_contents, log};

const MEASURED: &str =
    "{\"workload_key\": [\"mm\", 8], \"steps\": {\"T\": 1}, \"repeats_ns\": [100.5, 7]}\n";

/// First entry of the transaction log of a table.
const ENTRY: &str = "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"CREATE TABLE\"}}\n\
                     {\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n";

/// Copies files of `data/graphnet` to a folder.
fn copy(place: &Place, below: &str, to: &str) {
    for (name, bytes) in file_contents(&own().join(below)) {
        place.write(&format!("{to}/{name}"), bytes);
    }
}

/// Returns a file of each supported kind.
pub(crate) fn tree() -> Place {
    let place = Place::new();
    place.write("tree/logs/a100/one.json", log(1, 3));
    place.write("tree/logs/a100/two.txt", log(10, 2));
    place.write("tree/logs/t4/tuned.json", AUTOTVM);
    place.write("tree/mine/laptop/m.jsonl", MEASURED);
    let kernel = [(4.0, 80.0, 100.0), (8.0, 120.0, 100.0)];
    let kernel = npz(&tile_file(2, &kernel));
    place.write("tree/npz/tile/xla/valid/net_1f.npz", kernel);
    place.write("tree/info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    place.write("tree/info/(net,[(1,3)]).relay.pkl", RELAY);
    copy(&place, "samples/ours/convnet", "tree/samples/ours/convnet");
    place.write(
        "tree/runs/run.log",
        fs::read(own().join("logs/run.log")).unwrap(),
    );
    place
}

/// Writes files that are not ingested.
fn write_other_files(place: &Place) {
    for (name, bytes) in [
        (
            "README.md",
            "# Logs\n\n`{\"i\": [[...]], \"r\": [...]}` is a line.\n",
        ),
        ("TODO.md", "# nothing but a title\n"),
        ("tools/__init__.py", ""),
        (
            "tools/read.py",
            "import json\n\nLINE = '{\"i\": 1, \"r\": 2}'\n",
        ),
        (
            "tools/print.py",
            "# log [Processing] x\nprint(f\"log [Config] model: {x}\")\n",
        ),
        ("results.csv", "name,seconds\nconv2d,0.25\n"),
        (
            "package.json",
            "{\"name\": \"x\", \"version\": \"1.0\", \"config\": {\"input\": 1}}\n",
        ),
        ("list.json", "[1, 2, 3]\n"),
        // Files of a store without a marker.
        ("lost/records/_delta_log/00000000000000000000.json", ENTRY),
        ("lost/records/part-0.parquet", "PAR1\0\0\0\0PAR1"),
    ] {
        place.write(&format!("tree/{name}"), bytes);
    }
    place.write("tree/.git/config", log(50, 1));
    place.write("other/p/a.json", log(60, 1));
    place.ok(&["ingest", "other", "--store", "tree/store"]);
}

/// Returns the line of a report that begins with these words.
fn report_line<'a>(report: &'a str, words: &str) -> &'a str {
    let mut lines = report.lines();
    lines.find(|line| line.starts_with(words)).unwrap_or("")
}

#[test]
#[ignore = "full tier"]
fn formats_of_a_mixed_tree_are_detected_by_content() {
    let place = tree();
    write_other_files(&place);
    let kinds = "formats          1 benchmark log of GraphNet, 2 files of network_info, 1 sample of GraphNet, \
                 1 AutoTVM log, 2 auto_scheduler logs, 1 npz file of TpuGraphs, 1 file of measured records";
    let first = place.ok(&["ingest", "tree"]).stderr;
    assert_eq!(report_line(&first, "formats"), kinds, "{first}");
    for not_taken in [
        "skipped: 3 files, JSON: tree/list.json, \
         tree/lost/records/_delta_log/00000000000000000000.json, tree/package.json",
        "skipped: 1 file, a Parquet file: tree/lost/records/part-0.parquet",
        "skipped: 1 file, a store: tree/store",
        "skipped: 2 files, no content except comments: tree/TODO.md, tree/tools/__init__.py",
        "skipped: 4 files, text: tree/README.md, tree/results.csv, tree/tools/print.py, tree/tools/read.py",
    ] {
        assert!(first.lines().any(|line| line == not_taken), "{first}");
    }
    assert!(
        report_line(&first, "files").contains("11 skipped"),
        "{first}"
    );
    let again = place.ok(&["ingest", "tree"]).stderr;
    assert_eq!(report_line(&again, "formats"), kinds, "{again}");
    assert_eq!(report_line(&again, "records"), "records          0");
    let sql = "SELECT dataset, count(*) FROM files GROUP BY 1 ORDER BY 1";
    let graphnet = file_contents(&own().join("samples/ours/convnet")).len() + 1;
    let wanted = [
        "autotvm,1".to_owned(),
        format!("graphnet,{graphnet}"),
        "measured,1".to_owned(),
        "network_info,2".to_owned(),
        "tenset,2".to_owned(),
        "tpugraphs,1".to_owned(),
    ];
    assert_eq!(place.rows(sql), wanted);
    // A named file of another kind is an error.
    for named in ["README.md", "tools/read.py", "results.csv", "list.json"] {
        let ran = place.tsql(&["ingest", "--platform", "p", &format!("tree/{named}")]);
        assert_eq!(ran.code, Some(1), "{named}: {}", ran.stderr);
    }
    assert_eq!(place.rows(sql), wanted);
}

#[test]
fn a_requested_format_overrides_detection() {
    let place = Place::new();
    place.write("p/a.json", log(1, 2) + "words\n");
    place.write("p/README.md", "# a title\n\nwords\n");
    place.write("p/.hidden", log(5, 1));
    let ran = place.tsql(&["ingest", "--input-format", "autotvm", "p"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(
        report_line(&ran.stderr, "formats"),
        "formats          2 AutoTVM logs"
    );
    assert_eq!(report_line(&ran.stderr, "records"), "records          0");
    assert_eq!(report_line(&ran.stderr, "rejects"), "rejects          4");
    let sources = "SELECT dataset, name FROM sources ORDER BY 1, 2";
    assert_eq!(
        place.rows(sources),
        ["autotvm,p/README.md", "autotvm,p/a.json"]
    );
    let tenset = [
        "ingest",
        "--input-format",
        "tenset",
        "--platform",
        "q",
        "p/a.json",
    ];
    let ran = place.tsql(&tenset);
    assert_eq!(
        report_line(&ran.stderr, "records"),
        "records          2",
        "{}",
        ran.stderr
    );
    // Formats that are read as a whole reject other files.
    for (format, reason) in [
        ("network_info", "p/a.json: "),
        ("tpugraphs", "p/a.json: "),
        ("graphnet", "p/a.json: "),
    ] {
        let ran = place.tsql(&["ingest", "--store", "t", "--input-format", format, "p"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{format}: {}", ran.stderr);
        assert_eq!(
            report_line(&ran.stderr, "files"),
            "files            0 (2 not completely read)"
        );
    }
    let ran = place.tsql(&["ingest", "--input-format", "ansor", "p"]);
    assert_eq!(ran.code, Some(2));
    let names = "tenset, measured, autotvm, metaschedule, tpugraphs, graphnet, graphnet_log, network_info, metaschedule_workloads";
    assert!(ran.stderr.contains(names), "{}", ran.stderr);
    let help = place.ok(&["append", "--help"]).stdout;
    for name in ["tenset", "measured", "autotvm", "arrow"] {
        assert!(help.contains(&format!("- {name}:")), "{help}");
    }
}

#[test]
fn a_requested_format_applies_to_archives_and_exports() {
    let place = Place::new();
    let one = log(1, 2);
    let archive = tar(&[
        ("x/gpu/a.json", one.as_bytes()),
        ("x/gpu/words.txt", b"words\n"),
    ]);
    place.write("logs.tar", archive);
    let ran = place.tsql(&["ingest", "--input-format", "measured", "logs.tar"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(
        report_line(&ran.stderr, "formats"),
        "formats          2 files of measured records"
    );
    assert_eq!(report_line(&ran.stderr, "rejects"), "rejects          3");
    assert_eq!(
        place.rows("SELECT DISTINCT dataset, platform FROM sources"),
        ["measured,gpu"]
    );
    let place = tree();
    place.ok(&["ingest", "tree/logs/a100"]);
    place.ok(&["export", "--to", "back"]);
    let ran = place.tsql(&[
        "ingest",
        "--store",
        "t",
        "--input-format",
        "autotvm",
        "back/a100",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let note = "tsql-export.json states dataset `tenset` for 2 such files; they are ingested as `autotvm`, as requested";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let all = "SELECT DISTINCT dataset, platform FROM sources";
    let all = place.ok(&["--store", "t", all]).stdout;
    assert!(all.ends_with("\nautotvm,a100\n"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_library_lists_its_formats() {
    let place = tree();
    let inputs = [place.path().join("tree/logs").display().to_string()];
    let store = Store::create("memory:").await.unwrap();
    let options = IngestOptions::default().format("nope");
    let error = store
        .ingest(&inputs, &options)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no format `nope`, expected one of tenset, measured,"),
        "{error}"
    );
    let options = IngestOptions::default().dry_run(true);
    let report = store.ingest(&inputs, &options).await.unwrap();
    let kinds: Vec<_> = report.kinds.into_iter().collect();
    assert_eq!(kinds, [("an AutoTVM log", 1), ("an auto_scheduler log", 2)]);
    assert_eq!((report.files, report.records, report.bytes_out), (3, 8, 0));
    assert_eq!(store.data_bytes().await.unwrap(), 0);
}

/// Returns the lines that a dry run and the following run have in common.
fn comparable_lines(report: &str) -> Vec<&str> {
    let own = [
        "created the store",
        "next:",
        "dry run:",
        "new graphs",
        "new configs",
        "bytes",
        "store",
    ];
    let lines = report.lines();
    let lines = lines.filter(|line| own.iter().all(|words| !line.starts_with(words)));
    lines.collect()
}

#[test]
#[ignore = "full tier"]
fn a_dry_run_reports_like_a_run_and_writes_nothing() {
    let place = tree();
    write_other_files(&place);
    place.write("tree/logs/t4/odd.json", log(20, 2) + "no record\n");
    let kernel = npz(&tile_file(2, &[(4.0, 70.0, 100.0)]));
    let packed = log(200, 4);
    place.write(
        "tree/logs.tar",
        tar(&[("k80/a.json", packed.as_bytes()), ("k80/x.md", b"words\n")]),
    );
    place.write(
        "tree/npz.tar",
        tar(&[("npz/tile/xla/train/net_2.npz", &kernel)]),
    );
    let samples = file_contents(&own().join("samples"));
    let samples: Vec<(&str, &[u8])> = samples
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
        .collect();
    place.write("tree/samples.tar", tar(&samples));
    let before = file_contents(place.path());
    let dry = ["ingest", "--dry-run", "tree"];
    let would = place.tsql(&dry);
    assert_eq!(would.code, Some(1), "{}", would.stderr);
    assert!(file_contents(place.path()) == before, "nothing is written");
    assert!(!place.path().join(".tsql").exists());
    let store = report_line(&would.stderr, "store");
    assert_eq!(store, "store            none yet, it would be .tsql");
    for wanted in [
        "tree/logs/t4/odd.json:3: ",
        "rejects          1",
        "platforms        a100, example CPU, k80, laptop, t4, tpu-v3",
    ] {
        assert!(would.stderr.contains(wanted), "{wanted}: {}", would.stderr);
    }
    let did = place.tsql(&["ingest", "tree"]);
    assert_eq!(did.code, Some(1), "{}", did.stderr);
    assert_eq!(
        comparable_lines(&would.stderr),
        comparable_lines(&did.stderr)
    );

    // A dry run with an existing store: known, grown and new files.
    place.write("tree/logs/a100/one.json", log(1, 3) + &log(91, 1));
    place.write("tree/logs/a100/new.json", log(71, 2));
    place.write("tree/logs/a100/same.json", log(10, 2));
    let before = file_contents(place.path());
    let would = place.tsql(&dry);
    assert!(file_contents(place.path()) == before, "nothing is written");
    let told_files = report_line(&would.stderr, "files");
    assert!(
        told_files.starts_with("files            2 (1 grown, ")
            && told_files.contains("1 identical to another source"),
        "{}",
        would.stderr
    );
    let records = report_line(&would.stderr, "records");
    assert_eq!(records, "records          3");
    let did = place.tsql(&["ingest", "tree"]);
    assert_eq!(
        comparable_lines(&would.stderr),
        comparable_lines(&did.stderr)
    );
    place.ok(&["check"]);
}

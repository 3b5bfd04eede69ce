//! Invalid samples and logs of GraphNet are reported with path and line, stored, and do not stop the ingest.

use std::fs;

use crate::graphnet::own;
use crate::support::{Place, file_contents};

const SAMPLE: &str = "in/samples/ours/convnet";

/// Returns a copy of the samples and logs of this repository in `in`.
fn place() -> Place {
    let place = Place::new();
    for (name, bytes) in file_contents(&own()) {
        place.write(&format!("in/{name}"), bytes);
    }
    place
}

/// File, change of its text, and expected message.
type Case<'a> = (&'a str, &'a dyn Fn(&str) -> Vec<u8>, &'a str);

/// Copies of a sample, each with one changed file: the store contains it, reports the error, and ingests the others.
#[test]
fn malformed_files_are_reported_and_stored() {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let cases: &[Case] = &[
        (
            "model.py",
            &|_: &str| Vec::new(),
            "model.py:1: no method `forward`",
        ),
        (
            "model.py",
            &|text: &str| bytes(&text.replace("x_1 += x", "with x: pass")),
            "model.py:37: unsupported statement",
        ),
        (
            "model.py",
            &|text: &str| {
                bytes(&text.replace(
                    "x_1 += x",
                    &format!("y = {}x{}", "(".repeat(200_000), ")".repeat(200_000)),
                ))
            },
            "model.py:37: unsupported statement",
        ),
        (
            "model.py",
            &|text: &str| [b"# \xff\n", text.as_bytes()].concat(),
            "model.py:1: not UTF-8",
        ),
        (
            "model.py",
            &|text: &str| bytes(&text[..text.len() / 2]),
            "model.py:",
        ),
        (
            "weight_meta.py",
            &|text: &str| bytes(&text.replace("    std = 0.101", "    std == 0.101")),
            "weight_meta.py:7: not an attribute of a tensor",
        ),
        (
            "weight_meta.py",
            &|text: &str| bytes(&format!("import os\n{text}")),
            "weight_meta.py:1: not an attribute of a tensor",
        ),
        (
            "input_tensor_constraints.py",
            &|text: &str| bytes(&text.replace("S0 = Symbol", "S0 = lambda")),
            "input_tensor_constraints.py: unsupported content",
        ),
        (
            "graph_net.json",
            &|text: &str| bytes(&text[..text.len() - 3]),
            "graph_net.json:7: not a JSON object",
        ),
        (
            "graph_net.json",
            &|_: &str| b"[1]".to_vec(),
            "graph_net.json:1: not a JSON object",
        ),
    ];
    let place = place();
    let mut changed = Vec::new();
    for (number, (file, change, _)) in cases.iter().enumerate() {
        for entry in fs::read_dir(place.path().join(SAMPLE)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let copy = format!("in/samples/odd/{number}/{name}");
            if name == *file {
                place.write(&copy, change(&text));
                changed.push(copy);
            } else {
                place.write(&copy, text);
            }
        }
    }
    let ran = place.ok(&["ingest", "in"]);
    for (name, (_, _, expected)) in changed.iter().zip(cases) {
        let folder = name.rsplit_once('/').unwrap().0;
        let message = format!("{folder}/{expected}");
        assert!(ran.stderr.contains(&message), "{message}: {}", ran.stderr);
    }
    let odd = "SELECT count(*), count(problems) FROM samples WHERE path LIKE 'in/samples/odd/%'";
    let count = cases.len();
    assert_eq!(place.rows(odd), [format!("{count},{count}")]);
    let mut files: Vec<&str> = changed.iter().map(String::as_str).collect();
    files.extend(["in/samples/ours/convnet-wide/model.py", "in/logs/run.log"]);
    place.assert_sound(&files);
}

#[test]
fn unknown_layouts_are_stored_as_text() {
    let place = place();
    let name = format!("{SAMPLE}/weight_meta.py");
    let text = String::from_utf8(place.read(&name)).unwrap();
    place.write(&name, text.replace("    ", "\t").replace('\n', "\r\n"));
    place.write(&format!("{SAMPLE}/notes/README.md"), "what is it for?\n");
    place.write(&format!("{SAMPLE}/graph_hash.txt"), "none yet\n");
    place.ok(&["ingest", "in"]);
    let tensors = "SELECT count(*), sum(element_count) FROM tensors WHERE path LIKE '%/convnet'";
    assert_eq!(place.rows(tensors), ["6,532"]);
    place.assert_sound(&[
        &name,
        &format!("{SAMPLE}/notes/README.md"),
        &format!("{SAMPLE}/graph_hash.txt"),
    ]);
}

#[test]
fn a_missing_file_is_reported() {
    let place = place();
    for name in ["weight_meta.py", "model.py", "input_tensor_constraints.py"] {
        fs::remove_file(place.path().join(format!("{SAMPLE}/{name}"))).unwrap();
    }
    let ran = place.ok(&["ingest", "in"]);
    for name in ["weight_meta.py", "model.py", "input_tensor_constraints.py"] {
        assert!(
            ran.stderr
                .contains(&format!("note: {SAMPLE}/{name}: no such file")),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(
        place.rows("SELECT graph_id, node_count FROM samples WHERE path LIKE '%/convnet'"),
        [","]
    );
    place.ok(&["check"]);
    let strict = place.tsql(&["--store", "t", "ingest", "--strict", "in"]);
    assert_eq!(strict.code, Some(2), "{}", strict.stderr);
}

#[test]
fn a_changed_sample_is_stored_with_the_old_one() {
    let place = place();
    place.ok(&["ingest", "in"]);
    let name = format!("{SAMPLE}/graph_net.json");
    let text = String::from_utf8(place.read(&name)).unwrap();
    place.write(&name, text.replace("computer_vision", "other"));
    place.ok(&["ingest", "in"]);
    assert_eq!(
        place.rows(
            "SELECT path, heuristic_tag FROM samples WHERE path LIKE '%/convnet%' ORDER BY path"
        ),
        [
            "in/samples/ours/convnet,computer_vision",
            "in/samples/ours/convnet-wide,computer_vision",
            "in/samples/ours/convnet~2,other"
        ]
    );
    place.ok(&["check"]);
}

#[test]
#[ignore = "full tier"]
fn damaged_archives_are_rejected_and_keep_the_store_sound() {
    let place = place();
    let packed = std::process::Command::new("tar")
        .args(["cf", "whole.tar", "in/samples"])
        .current_dir(place.path())
        .status();
    assert!(packed.unwrap().success());
    let whole = place.read("whole.tar");
    place.write("cut.tar", &whole[..whole.len() * 2 / 3]);
    let ran = place.tsql(&["ingest", "cut.tar"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut.tar"), "{}", ran.stderr);
    place.ok(&["check"]);
    place.ok(&["ingest", "whole.tar"]);
    place.ok(&["check"]);
    place.write("odd.parquet", b"PAR1 and nothing more");
    let ran = place.tsql(&["ingest", "odd.parquet"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("odd.parquet"), "{}", ran.stderr);
    place.ok(&[
        "SELECT 1 AS path",
        "--format",
        "parquet",
        "-o",
        "other.parquet",
    ]);
    let ran = place.tsql(&["ingest", "other.parquet"]);
    assert!(ran.stderr.contains("no column `content`"), "{}", ran.stderr);
}

#[test]
fn malformed_logs_are_reported_and_stored() {
    let place = place();
    let text = String::from_utf8(place.read("in/logs/run.log")).unwrap();
    let odd = text
        .replacen("[Speedup][e2e]: 1.60000", "[Speedup][e2e]: fast", 1)
        .replacen("[Correctness][mean_diff]", "[Correctness][what_diff]", 1);
    let cut = odd.rfind("[Fail due").unwrap() - 60;
    let bytes = [&odd.as_bytes()[..cut], b"\xff\xfe garbage"].concat();
    place.write("in/logs/run.log", bytes);
    let ran = place.ok(&["ingest", "in"]);
    for expected in ["run.log:91: ", "what_diff", "cut off"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert_eq!(place.rows("SELECT count(*) FROM runs"), ["7"]);
    let checked = "SELECT count(*) FROM checks WHERE key = 'what_diff'";
    assert_eq!(place.rows(checked), ["1"]);
    place.assert_sound(&["in/logs/run.log"]);
}

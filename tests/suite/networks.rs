//! TenSet's `network_info`: networks, their tasks, operations and latencies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Place, shared};

/// Network of one task, `["k", 4]` with weight 3, written by hand for the fuzzer.
pub(crate) const NETWORK: &[u8] = include_bytes!("../../fuzz/corpus/pickle/network");
pub(crate) const RELAY: &[u8] = include_bytes!("../../fuzz/corpus/pickle/relay");
/// Pickle that calls a function.
const CALLS: &[u8] = include_bytes!("../../fuzz/corpus/pickle/calls");

const FILE: &str = "((net,[(1,3)]),cuda).task.pkl";

fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let out = place.ok(&["--format", "jsonl", sql]).stdout;
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns an auto_scheduler line of the task `["k", 4]` with this runtime.
fn record(tile: u32, seconds: &str) -> String {
    format!(
        "{{\"i\": [[\"[\\\"k\\\", 4]\", \"cuda\", [1, 2, 3, 4, 5, 6, 7, 8], \"\", 2, []], [[], [[\"SP\", 2, 0, 8, [{tile}], 1]]]], \
         \"r\": [[{seconds}], 0, 1.5, 1697658022], \"v\": \"v0.6\"}}\n"
    )
}

#[test]
#[ignore = "full tier"]
fn tasks_and_records_are_linked_in_any_order() {
    for order in [["info", "gpu"], ["gpu", "info"]] {
        let place = Place::new();
        place.write(&format!("info/{FILE}"), NETWORK);
        place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
        place.write("gpu/log.json", record(2, "0.0005") + &record(4, "0.00025"));
        for folder in order {
            place.ok(&["ingest", folder]);
        }
        let sql = "SELECT network, input_shapes, target_kind, task_count, weight_sum, flop_count FROM networks";
        let network = "net,\"[[1,3]]\",cuda,1,";
        let found = place.rows(sql);
        assert!(
            found.len() == 1 && found[0].starts_with(network),
            "{found:?}"
        );
        let latency = place.ok(&["queries", "network-latency"]).stdout;
        let weight: f64 = place.rows("SELECT weight FROM network_tasks")[0]
            .parse()
            .unwrap();
        let latency = latency
            .lines()
            .nth(1)
            .unwrap()
            .split(',')
            .collect::<Vec<_>>();
        let wanted = format!("{:?}", weight * 250_000.0);
        assert!(
            latency.contains(&wanted.as_str()),
            "{latency:?} without {wanted}"
        );
        let speeds = place.ok(&["queries", "task-gflops"]).stdout;
        // Four sums of three products.
        let wanted = ",2,250000.0,24.0,0.000096";
        assert!(speeds.contains(wanted), "{speeds} without {wanted}");
        // `A` of 4 by 3 and `B` of 4 numbers of four bytes: 24 operations over 64 bytes, in 250 µs.
        let roofline = &[
            "queries",
            "roofline",
            "--set",
            "peak=10",
            "--set",
            "bandwidth=5",
        ];
        let roofline = place.ok(roofline).stdout;
        let lines: Vec<&str> = roofline.lines().collect();
        // The roof is bandwidth 5 times the intensity, at most the peak of 10, up to twice the ridge.
        let limits = "\"10.0 GFLOPS, 5.0 GB/s\"";
        let wanted = [
            format!("mine,0.375,0.000096,0.000256,1.875,{limits}"),
            format!(",0.375,,,1.875,{limits}"),
            format!(",2.0,,,10.0,{limits}"),
            format!(",4.0,,,10.0,{limits}"),
        ];
        assert_eq!(lines[1..], wanted);
        // The roof is one line, and no series.
        place.ok(&["plot", "@roofline", "-o", "roofline.svg"]);
        let svg = String::from_utf8(place.read("roofline.svg")).unwrap();
        assert_eq!(svg.matches("stroke-dasharray").count(), 1, "{svg}");
        assert!(
            !svg.contains("(none)") && svg.contains("best reached"),
            "{svg}"
        );
        let bare = place.ok(&["queries", "roofline"]).stdout;
        // Without limits of the machine, the best values of the tasks are the limits. The only task is at the ridge.
        let roof: Vec<&str> = bare.lines().skip(2).collect();
        assert_eq!(roof.len(), 3);
        assert!(roof.iter().all(|row| row.contains("(best reached)")));
        assert!(roof[2].starts_with(",0.75,,,0.000096,"), "{roof:?}");
        let sql = "SELECT count(*) FROM graphs g JOIN tasks t USING (graph_id) JOIN records r USING (graph_id)";
        assert_eq!(place.rows(sql), ["2"]);
        let sql = "SELECT network, parameter_bytes > 0 FROM relays";
        assert_eq!(place.rows(sql), ["net,true"]);
        // Repeated files are known, also under another name.
        let again = place.ok(&["ingest", "info"]);
        assert!(
            again.stderr.contains("2 already ingested"),
            "{}",
            again.stderr
        );
        place.write("other/same.task.pkl", NETWORK);
        place.ok(&["ingest", "other"]);
        assert_eq!(place.rows("SELECT count(*) FROM network_tasks"), ["1"]);
        place.assert_sound(&[
            &format!("info/{FILE}"),
            "other/same.task.pkl",
            "gpu/log.json",
        ]);
        place.ok(&["optimize"]);
        place.assert_sound(&[&format!("info/{FILE}"), "info/(net,[(1,3)]).relay.pkl"]);
    }
}

#[test]
fn damaged_and_hostile_pickles_are_rejected_and_others_ingested() {
    let place = Place::new();
    place.write(&format!("info/{FILE}"), NETWORK);
    place.write("info/cut.task.pkl", &NETWORK[..NETWORK.len() / 2]);
    place.write("info/more.task.pkl", [NETWORK, b"more"].concat());
    place.write("info/calls.pkl", CALLS);
    let ran = place.tsql(&["ingest", "info"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for message in [
        "info/cut.task.pkl: invalid pickle: ",
        "info/more.task.pkl: 4 bytes follow",
    ] {
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
    assert_eq!(place.rows("SELECT count(*) FROM sources"), ["1"]);
    assert_eq!(place.rows("SELECT count(*) FROM network_tasks"), ["1"]);
    place.assert_sound(&[&format!("info/{FILE}")]);
}

#[test]
#[ignore = "full tier"]
fn leftovers_of_an_interrupted_run_are_reported_and_replaced() {
    let place = Place::new();
    place.write(&format!("info/{FILE}"), NETWORK);
    place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
    place.ok(&["ingest", "info"]);
    // The ingest log does not contain the run.
    let log = place.path().join(".tsql/sources/_delta_log");
    let entries = std::fs::read_dir(log).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let last = entries.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    std::fs::remove_file(last.max().unwrap()).unwrap();
    let ran = place.ok(&["check"]);
    let of_run = "with rows of an interrupted run that are not in the ingest log: 2";
    assert!(ran.stderr.contains(of_run), "{}", ran.stderr);
    for table in ["network_tasks", "relays"] {
        let counted = format!("SELECT count(*) FROM {table}");
        assert_eq!(place.rows(&counted), ["0"], "{table}");
    }
    place.ok(&["ingest", "info"]);
    let counts = "SELECT (SELECT count(*) FROM network_tasks), (SELECT count(*) FROM relays), \
                  (SELECT count(*) FROM tasks), (SELECT count(*) FROM sources)";
    assert_eq!(place.rows(counts), ["1,1,1,2"]);
    place.assert_sound(&[&format!("info/{FILE}"), "info/(net,[(1,3)]).relay.pkl"]);
}

/// Golden values of TVM for the 204 tasks of the real files.
#[test]
#[ignore = "full tier"]
fn real_tasks_match_tvm() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let folder = shared.join("data/tenset/network_info");
    place.ok(&["ingest", "-q", folder.to_str().unwrap()]);
    let golden = std::fs::read_to_string(shared.join("golden/tenset/network_tasks.expected.jsonl"));
    let golden = golden.unwrap();
    let flops = std::fs::read(shared.join("golden/tenset/task_flops.json")).unwrap();
    let flops: Vec<Value> = serde_json::from_slice(&flops).unwrap();
    let sql = "SELECT s.name, n.line - 1 AS idx, n.weight, g.workload_key, n.hardware_params, \
                 n.layout_rewrite_option AS layout, split_part(n.target, ' ', 1) AS kind, t.tensors, t.flop_count, \
                 t.operations, t.operation_count FROM network_tasks n JOIN sources s USING (source_id) \
                 JOIN graphs g ON g.graph_id = n.graph_id JOIN tasks t ON t.graph_id = n.graph_id";
    let mut found = BTreeMap::new();
    for row in rows(&place, sql) {
        let name = row["name"].as_str().unwrap().to_owned();
        let place = (name, row["idx"].as_u64().unwrap());
        assert!(found.insert(place, row).is_none(), "a task twice");
    }
    assert_eq!(found.len(), 204);
    let key = |row: &Value| {
        let file = row["file"].as_str().unwrap();
        let name = file.strip_prefix("data/tenset/").unwrap().to_owned();
        (name, row["idx"].as_u64().unwrap())
    };
    for line in golden.lines() {
        let wanted: Value = serde_json::from_str(line).unwrap();
        let row = &found[&key(&wanted)];
        for same in ["weight", "workload_key", "layout"] {
            assert_eq!(row[same], wanted[same], "{same} of {line}");
        }
        assert_eq!(row["kind"], wanted["target"]["kind"], "{line}");
        assert_eq!(
            row["hardware_params"][0], wanted["hw"]["num_cores"],
            "{line}"
        );
        let tensors: Value = serde_json::from_str(row["tensors"].as_str().unwrap()).unwrap();
        let without_place = |tensor: &Value| {
            let mut tensor = tensor.clone();
            tensor.as_object_mut().unwrap().remove("operation");
            tensor
        };
        let tensors: Vec<Value> = tensors
            .as_array()
            .unwrap()
            .iter()
            .map(without_place)
            .collect();
        assert_eq!(&tensors, wanted["tensors"].as_array().unwrap(), "{line}");
    }
    for wanted in &flops {
        let row = &found[&key(wanted)];
        let flop_count = wanted["flop_ct"].as_f64().filter(|count| *count >= 0.0);
        assert_eq!(row["flop_count"].as_f64(), flop_count, "{wanted}");
        let operations = wanted["ops"].as_array().unwrap();
        assert_eq!(
            row["operation_count"].as_u64(),
            Some(operations.len() as u64)
        );
        let own: Value = serde_json::from_str(row["operations"].as_str().unwrap()).unwrap();
        let own = own.as_array().unwrap().iter();
        let own = own.map(|one| ["op_type", "name", "tag"].map(|key| one[key].to_string()));
        let theirs = operations
            .iter()
            .map(|one| [0, 1, 2].map(|place| one[place].to_string()));
        let (own, theirs): (BTreeSet<_>, BTreeSet<_>) = (own.collect(), theirs.collect());
        assert_eq!(own, theirs, "{wanted}");
    }
    // ResNet-50 has 27 tasks (TenSet, section 3.2), 56 with their weights.
    let resnet = "SELECT task_count, weight_sum FROM networks WHERE network = 'resnet_50'";
    assert_eq!(place.rows(resnet), ["27,56", "27,56"]);
    let classes = "SELECT t.op, count(*) FROM network_tasks n JOIN tasks t USING (graph_id) \
                   WHERE network = 'bert_base' AND target_kind = 'llvm' GROUP BY 1 ORDER BY 2 DESC, 1";
    let classes = place.rows(classes);
    assert!(
        classes.iter().any(|row| row.starts_with("batch_matmul,")),
        "{classes:?}"
    );
    operations_and_bytes_are_those_of_a_hand(&place);
    // Nodes and edges of tasks are in the common tables.
    let counted = "SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges)";
    let wanted = "SELECT sum(operation_count), sum(edge_count) FROM tasks";
    assert_eq!(place.rows(counted), place.rows(wanted));
    let dense = "SELECT u.op, u.dtype, u.shape, o.op_kind, o.shape FROM edges e \
                 JOIN nodes u ON u.graph_id = e.graph_id AND u.node = e.user \
                 JOIN nodes o ON o.graph_id = e.graph_id AND o.node = e.operand \
                 JOIN graphs g ON g.graph_id = e.graph_id \
                 WHERE g.workload_key = '[\"8addb915d36723c9d7e5db67bda4e7d2\", 1, 128, 3072, 1, 768, 3072, 768, 1, 128, 768, 1, 128, 768]' \
                   AND u.op = 'batch_matmul' ORDER BY e.operand";
    let wanted = [
        "batch_matmul,float32,\"[1,128,768]\",PlaceholderOp,\"[1,128,3072]\"",
        "batch_matmul,float32,\"[1,128,768]\",PlaceholderOp,\"[1,768,3072]\"",
    ];
    assert_eq!(place.rows(dense), wanted);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let back = place.read(&format!("back/network_info/{name}"));
        assert!(back == std::fs::read(&path).unwrap(), "{name} differs");
    }
}

/// Asserts operations and bytes of the real networks.
fn operations_and_bytes_are_those_of_a_hand(place: &Place) {
    // torchvision counts 4.09 GMAC for ResNet-50 at 224x224, which are 8.18 GFLOP; biases, sums and clips are
    // additional. Eight of its convolutions of 3x3 use Winograd, which multiplies less: direct ones have 2 * 28 * 28 *
    // 128 * 9 * 128 each. BERT-base at 128 tokens: 12 layers of (4 * 768^2 + 2 * 768 * 3072) weights for each token
    // and 2 * 128^2 * 768 for attention, twice for a product and a sum, are 22.347 GFLOP of products.
    let flops = |network: &str| {
        let sql = format!(
            "SELECT sum(n.weight * CASE WHEN t.op = 'conv2d_winograd' THEN 231211008 ELSE t.flop_count END) / 1e9 \
             FROM network_tasks n JOIN tasks t USING (graph_id) WHERE network = '{network}' AND target_kind = 'llvm'"
        );
        place.rows(&sql)[0].parse::<f64>().unwrap()
    };
    let (resnet, bert) = (flops("resnet_50"), flops("bert_base"));
    assert!((8.18..8.25).contains(&resnet), "{resnet}");
    assert!((22.34..22.8).contains(&bert), "{bert}");
    // Two inputs, a bias, an addend and an output, in numbers of 4 bytes.
    let bytes = "SELECT moved_bytes FROM tasks JOIN graphs USING (graph_id) WHERE workload_key LIKE '[\"8addb915d36723c9d7e5db67bda4e7d2\", 1, 128, 3072,%'";
    let moved = 4 * (128 * 3072 + 768 * 3072 + 768 + 2 * 128 * 768);
    assert_eq!(place.rows(bytes), [moved.to_string()]);
}

/// The expected latency is the sum of weight times minimum mean of each task, with the weights of TVM.
#[test]
fn latencies_of_real_networks_match_hand_computation() {
    let Some(shared) = shared() else { return };
    let log = "resnet-50-NHWC-B1-llvm.3dd4541.json";
    let text = std::fs::read_to_string(shared.join("data/tenset/tutorial-logs").join(log)).unwrap();
    let mut best = BTreeMap::<String, f64>::new();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let (result, key) = (&line["r"], line["i"][0][0].as_str().unwrap());
        if result[1] == 0 {
            let costs = result[0].as_array().unwrap();
            let sum: f64 = costs.iter().map(|cost| cost.as_f64().unwrap()).sum();
            let mean = sum / f64::from(u32::try_from(costs.len()).unwrap());
            let least = best.entry(key.to_owned()).or_insert(mean);
            *least = least.min(mean);
        }
    }
    let golden = std::fs::read_to_string(shared.join("golden/tenset/network_tasks.expected.jsonl"));
    let (mut seconds, mut measured) = (0.0, 0);
    for line in golden.unwrap().lines() {
        let task: Value = serde_json::from_str(line).unwrap();
        let file = task["file"].as_str().unwrap();
        if !file.ends_with("((resnet_50,[(1,3,224,224)]),llvm).task.pkl") {
            continue;
        }
        if let Some(best) = best.get(task["workload_key"].as_str().unwrap()) {
            seconds += best * task["weight"].as_f64().unwrap();
            measured += 1;
        }
    }
    assert_eq!(measured, 9);
    let place = Place::new();
    for path in [
        format!("data/tenset/tutorial-logs/{log}"),
        "data/tenset/network_info".into(),
    ] {
        let path = shared.join(path);
        place.ok(&["ingest", "-q", "--platform", "cpu", path.to_str().unwrap()]);
    }
    let stdout = place
        .ok(&["queries", "network-latency", "--format", "jsonl"])
        .stdout;
    let rows = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows = rows.filter(|row| row["network"] == "resnet_50" && row["target_kind"] == "llvm");
    let row = rows.next().unwrap();
    assert_eq!(
        (&row["task_count"], &row["measured_task_count"]),
        (&27.into(), &9.into())
    );
    let found = row["latency_ns"].as_f64().unwrap();
    assert!(
        (found - seconds * 1e9).abs() <= seconds,
        "{found} ns is not {seconds} s"
    );
}

/// Milliseconds and GFLOPS of the tasks of ResNet-50 in TVM's tutorial (`tune_network_x86.py`, apache/tvm at 11d16fd).
const X86: [(&str, &str); 29] = [
    ("0.010", "0.40"),
    ("0.087", "47.19"),
    ("0.008", "-0.00"),
    ("0.177", "582.07"),
    ("0.268", "862.37"),
    ("0.166", "621.13"),
    ("0.170", "605.10"),
    ("0.128", "403.20"),
    ("0.189", "545.71"),
    ("0.231", "1001.01"),
    ("0.155", "664.80"),
    ("0.155", "662.86"),
    ("0.119", "434.08"),
    ("0.199", "522.13"),
    ("0.235", "986.56"),
    ("0.149", "689.13"),
    ("0.155", "664.80"),
    ("0.151", "340.64"),
    ("0.176", "597.55"),
    ("0.220", "1054.37"),
    ("0.150", "686.01"),
    ("0.159", "650.88"),
    ("0.073", "358.19"),
    ("0.031", "70.63"),
    ("0.251", "947.73"),
    ("0.157", "652.47"),
    ("0.215", "954.84"),
    ("0.237", "868.92"),
    ("0.266", "774.06"),
];

/// Milliseconds of the tasks of ResNet-18 in TVM's tutorial (`tune_network_cuda.py`, apache/tvm at 1a01102).
const CUDA: [&str; 24] = [
    "0.005", "0.010", "0.006", "0.145", "0.130", "0.143", "0.076", "0.115", "0.079", "0.122",
    "0.063", "0.072", "0.062", "0.068", "0.049", "0.076", "0.067", "0.076", "0.022", "0.076",
    "0.013", "0.011", "0.013", "0.020",
];

/// Returns the size of the intersection of two multisets.
fn in_common(found: &[String], wanted: &[&str]) -> usize {
    let mut left = wanted.to_vec();
    let common = found.iter().filter(|one| {
        let place = left.iter().position(|other| other == one);
        place.map(|place| left.remove(place)).is_some()
    });
    common.count()
}

/// TVM's tutorials print the best time of each task of the archived logs. One task of each log was unfinished.
#[test]
fn best_times_of_real_tasks_match_the_tutorials() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = [
        ("x86", "resnet-50-NHWC-B1-llvm.611f776.json"),
        ("cuda", "resnet-18-NHWC-B1.41b6c0e.json"),
        ("later", "resnet-50-NHWC-B1-llvm.3dd4541.json"),
    ];
    for (platform, log) in logs {
        let log = shared.join("data/tenset/tutorial-logs").join(log);
        place.tsql(&[
            "ingest",
            "-q",
            "--platform",
            platform,
            log.to_str().unwrap(),
        ]);
    }
    let best = |platform: &str| -> Vec<String> {
        let sql = format!(
            "SELECT min(runtime_ns) / 1e6 FROM records WHERE platform = '{platform}' \
             AND status = 'ok' GROUP BY graph_id"
        );
        let rows = place.rows(&sql);
        let rows = rows
            .iter()
            .map(|row| format!("{:.3}", row.parse::<f64>().unwrap()));
        rows.collect()
    };
    let (x86, cuda) = (best("x86"), best("cuda"));
    assert_eq!((x86.len(), cuda.len()), (29, 24));
    assert_eq!(in_common(&x86, &X86.map(|(time, _)| time)), 28);
    assert_eq!(in_common(&cuda, &CUDA), 23);
    // Tasks whose operations are in TenSet's pickles have the printed speed, too.
    let networks = shared.join("data/tenset/network_info");
    place.ok(&["ingest", "-q", networks.to_str().unwrap()]);
    let later = "platform=later";
    let args = [
        "queries",
        "task-gflops",
        "--set",
        later,
        "--format",
        "jsonl",
    ];
    let stdout = place.ok(&args).stdout;
    let (mut printed, mut others) = (0, Vec::new());
    for line in stdout.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let milliseconds = format!("{:.3}", row["best_ns"].as_f64().unwrap() / 1e6);
        let Some(speed) = row["gflops"].as_f64() else {
            assert_eq!(milliseconds, "0.008", "only of one task are they not known");
            continue;
        };
        let speed = format!("{speed:.2}");
        if X86.contains(&(milliseconds.as_str(), speed.as_str())) {
            printed += 1;
        } else {
            others.push((milliseconds, speed));
        }
    }
    assert_eq!(printed, 7);
    assert_eq!(others, [("0.146".to_owned(), "703.77".to_owned())]);
}

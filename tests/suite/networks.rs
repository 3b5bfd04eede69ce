//! TenSet's `network_info`: networks, their tasks, what these compute, and how long they take.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Place, shared};

/// A network of one task, `["k", 4]` with weight 3, made by hand for the fuzzer.
pub(crate) const NETWORK: &[u8] = include_bytes!("../../fuzz/corpus/pickle/network");
pub(crate) const RELAY: &[u8] = include_bytes!("../../fuzz/corpus/pickle/relay");
/// A pickle that would call something.
const CALLS: &[u8] = include_bytes!("../../fuzz/corpus/pickle/calls");

const FILE: &str = "((net,[(1,3)]),cuda).task.pkl";

fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let out = place.ok(&["--format", "jsonl", sql]).stdout;
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A line of auto_scheduler of the task `["k", 4]`, that took so many seconds.
fn record(tile: u32, seconds: &str) -> String {
    format!(
        "{{\"i\": [[\"[\\\"k\\\", 4]\", \"cuda\", [1, 2, 3, 4, 5, 6, 7, 8], \"\", 2, []], [[], [[\"SP\", 2, 0, 8, [{tile}], 1]]]], \
         \"r\": [[{seconds}], 0, 1.5, 1697658022], \"v\": \"v0.6\"}}\n"
    )
}

#[test]
fn tasks_meet_their_records_whichever_came_first() {
    for order in [["info", "gpu"], ["gpu", "info"]] {
        let place = Place::new();
        place.write(&format!("info/{FILE}"), NETWORK);
        place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
        place.write("gpu/log.json", record(2, "0.0005") + &record(4, "0.00025"));
        for folder in order {
            place.ok(&["ingest", folder]);
        }
        let asked = "SELECT network, input_shapes, target_kind, task_count, weight_sum, flop_count FROM networks";
        let network = "net,\"[[1,3]]\",cuda,1,";
        let found = place.rows(asked);
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
        let asked = "SELECT count(*) FROM graphs g JOIN tasks t USING (graph_id) JOIN records r USING (graph_id)";
        assert_eq!(place.rows(asked), ["2"]);
        let asked = "SELECT network, parameter_bytes > 0 FROM relays";
        assert_eq!(place.rows(asked), ["net,true"]);
        // Whatever comes again is there, also under another name.
        let again = place.ok(&["ingest", "info"]);
        assert!(again.stderr.contains("2 already there"), "{}", again.stderr);
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
fn damaged_and_hostile_pickles_are_refused_and_the_others_taken() {
    let place = Place::new();
    place.write(&format!("info/{FILE}"), NETWORK);
    place.write("info/cut.task.pkl", &NETWORK[..NETWORK.len() / 2]);
    place.write("info/more.task.pkl", [NETWORK, b"more"].concat());
    place.write("info/calls.pkl", CALLS);
    let ran = place.tsql(&["ingest", "info"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in [
        "info/cut.task.pkl: no pickle: ",
        "info/more.task.pkl: 4 bytes follow",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert_eq!(place.rows("SELECT count(*) FROM sources"), ["1"]);
    assert_eq!(place.rows("SELECT count(*) FROM network_tasks"), ["1"]);
    place.assert_sound(&[&format!("info/{FILE}")]);
}

#[test]
fn what_an_interrupted_run_left_is_told_and_replaced() {
    let place = Place::new();
    place.write(&format!("info/{FILE}"), NETWORK);
    place.write("info/(net,[(1,3)]).relay.pkl", RELAY);
    place.ok(&["ingest", "info"]);
    // The ledger does not get to know of it.
    let log = place.path().join(".tsql/sources/_delta_log");
    let entries = std::fs::read_dir(log).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let last = entries.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    std::fs::remove_file(last.max().unwrap()).unwrap();
    let told = place.tsql(&["check"]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    for table in ["network_tasks", "relays"] {
        assert!(told.stderr.contains(table), "{table}: {}", told.stderr);
    }
    place.ok(&["ingest", "info"]);
    let counts = "SELECT (SELECT count(*) FROM network_tasks), (SELECT count(*) FROM relays), \
                  (SELECT count(*) FROM tasks), (SELECT count(*) FROM sources)";
    assert_eq!(place.rows(counts), ["1,1,1,2"]);
    place.assert_sound(&[&format!("info/{FILE}"), "info/(net,[(1,3)]).relay.pkl"]);
}

/// What TVM itself says of the 204 tasks of the real files.
#[test]
fn real_tasks_are_those_that_tvm_has() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let folder = shared.join("data/tenset/network_info");
    place.ok(&["ingest", "-q", folder.to_str().unwrap()]);
    let golden = std::fs::read_to_string(shared.join("golden/tenset/network_tasks.expected.jsonl"));
    let golden = golden.unwrap();
    let flops = std::fs::read(shared.join("golden/tenset/task_flops.json")).unwrap();
    let flops: Vec<Value> = serde_json::from_slice(&flops).unwrap();
    let asked = "SELECT s.name, n.line - 1 AS idx, n.weight, g.workload_key, n.hardware_params, \
                 n.layout_rewrite_option AS layout, split_part(n.target, ' ', 1) AS kind, t.tensors, t.flop_count, \
                 t.operations, t.operation_count FROM network_tasks n JOIN sources s USING (source_id) \
                 JOIN graphs g ON g.graph_id = n.graph_id JOIN tasks t ON t.graph_id = n.graph_id";
    let mut found = BTreeMap::new();
    for row in rows(&place, asked) {
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
    // What tasks compute is among all nodes and edges.
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

/// The sum of weight times best, by hand: the weights that TVM has, the least mean of each task's lines.
#[test]
fn latencies_of_real_networks_are_what_a_hand_computes() {
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
    let told = place
        .ok(&["queries", "network-latency", "--format", "jsonl"])
        .stdout;
    let rows = told
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

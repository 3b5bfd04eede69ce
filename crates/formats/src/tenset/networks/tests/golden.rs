//! All 204 tasks of the real files. The expected rows come from another decoder (Python with stub classes), and their
//! operation counts agree with TVM's documentation.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::DocumentFormat as _;
use crate::shared;
use crate::tenset::networks::{Network, NetworkContent, NetworkInfo, TargetValue, Task, read};

/// Tasks of each file of the folder, by file name.
fn tasks() -> Option<BTreeMap<String, Vec<Task>>> {
    let folder = "data/tenset/network_info";
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(shared::path(folder)?).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(
            NetworkInfo.has_magic(&bytes[..bytes.len().min(16 << 10)]),
            "{name}"
        );
        let NetworkContent::Network(tasks) = read(&bytes).unwrap() else {
            panic!("{name}");
        };
        let network = Network::from_path(name).unwrap();
        let target = network.target.unwrap();
        assert!(tasks.iter().all(|task| task.target.kind == target));
        files.insert(format!("{folder}/{name}"), tasks);
    }
    Some(files)
}

fn golden(name: &str) -> Option<String> {
    let bytes = shared::bytes(&format!("golden/tenset/{name}"))?;
    Some(String::from_utf8(bytes).unwrap())
}

/// Value in the format of the golden rows: numbers as texts.
fn golden_value(value: &TargetValue) -> Value {
    match value {
        TargetValue::List(values) => values.iter().map(golden_value).collect(),
        one => one.text().into(),
    }
}

/// Task in the format of the golden rows.
fn row(file: &str, task: &Task) -> Value {
    let key: Vec<Value> = serde_json::from_str(&task.workload_key).unwrap();
    let target = &task.target;
    let attributes = target.attributes.iter();
    let attributes: BTreeMap<_, _> = attributes
        .map(|(name, value)| (name, golden_value(value)))
        .collect();
    let tensors = task.tensors.iter().map(|tensor| {
        json!({
            "op_type": tensor.op_type,
            "name": tensor.name,
            "shape": tensor.shape,
            "dtype": tensor.dtype,
        })
    });
    json!({
        "file": file,
        "idx": task.index,
        "weight": task.weight,
        "workload_key": task.workload_key,
        "hash": task.workload_name(),
        "n_args": key.len() - 1,
        "target": {
            "kind": target.kind,
            "keys": target.keys,
            "attrs": attributes,
            "tvm_version": target.tvm_version,
        },
        "target_host": task.target_host.as_ref().map(|host| host.text()),
        "hw": task.hardware.0,
        "layout": task.layout_rewrite_option,
        "tensors": tensors.collect::<Vec<_>>(),
    })
}

#[test]
fn tasks_of_real_files_are_those_of_another_decoder() {
    let (Some(tasks), Some(golden)) = (tasks(), golden("network_tasks.expected.jsonl")) else {
        return;
    };
    let mut compared = 0;
    for line in golden.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let file = expected["file"].as_str().unwrap();
        let index = usize::try_from(expected["idx"].as_u64().unwrap()).unwrap();
        let task = &tasks[file][index];
        assert_eq!(row(file, task), expected);
        assert!(task.input_names.is_empty());
        compared += 1;
    }
    assert_eq!(compared, 204);
    assert_eq!(compared, tasks.values().map(Vec::len).sum::<usize>());
}

#[test]
fn operations_of_real_tasks_are_counted_as_tvm_counts_them() {
    let (Some(tasks), Some(golden)) = (tasks(), golden("task_flops.json")) else {
        return;
    };
    let golden: Vec<Value> = serde_json::from_str(&golden).unwrap();
    let mut unknown_count = 0;
    for expected in &golden {
        let file = expected["file"].as_str().unwrap();
        let index = usize::try_from(expected["idx"].as_u64().unwrap()).unwrap();
        let task = &tasks[file][index];
        assert_eq!(task.workload_key, expected["workload_key"]);
        let flop_count = task.dag.flop_count;
        assert_eq!(
            flop_count.unwrap_or(-1.0),
            expected["flop_ct"],
            "{file} {index}"
        );
        unknown_count += usize::from(flop_count.is_none());
        // The other decoder has its own order.
        let operations = task.dag.operations.iter();
        let operations =
            operations.map(|node| json!([node.op_type, node.name, node.tag]).to_string());
        let mut operations: Vec<String> = operations.collect();
        let expected_operations = expected["ops"].as_array().unwrap().iter();
        let mut expected_operations: Vec<String> =
            expected_operations.map(ToString::to_string).collect();
        operations.sort();
        expected_operations.sort();
        assert_eq!(operations, expected_operations, "{file} {index}");
        for (producer, consumer) in task.dag.edges() {
            assert!(producer < consumer);
        }
        for tensor in &task.tensors {
            let operation = &task.dag.operations[tensor.operation];
            assert_eq!(
                (&operation.shape, &operation.name),
                (&tensor.shape, &tensor.name)
            );
            assert_eq!(operation.dtype.as_ref(), Some(&tensor.dtype));
        }
    }
    assert_eq!((golden.len(), unknown_count), (204, 6));
}

/// A workload key consists of the hash and the sizes of the tensors. The text of a target and the hardware parameters
/// equal those of log records.
#[test]
fn real_tasks_have_the_keys_of_log_records() {
    let Some(tasks) = tasks() else { return };
    for task in tasks.values().flatten() {
        let key: Vec<Value> = serde_json::from_str(&task.workload_key).unwrap();
        let sizes = task.tensors.iter().flat_map(|tensor| tensor.shape.clone());
        assert_eq!(json!(key[1..]), json!(sizes.collect::<Vec<_>>()));
        let text = match task.target.kind.as_str() {
            "cuda" => "cuda -keys=cuda,gpu -max_num_threads=1024 -thread_warp_size=32",
            _ => {
                "llvm -keys=cpu -link-params=0 -mattr=+neon,+v8.2a,+dotprod \
                 -model=graviton2 -mtriple=aarch64-linux-gnu"
            }
        };
        assert_eq!(task.target.text(), text);
        let numbers = match task.target.kind.as_str() {
            "cuda" => [-1, 16, 64, 49152, 2_147_483_647, 1024, 8, 32],
            _ => [48, 64, 64, 0, 0, 0, 0, 0],
        };
        assert_eq!(task.hardware.record_parameters(), Some(numbers));
    }
}

/// Numbers of a key after its name, at any nesting depth.
fn sizes(key: &str) -> (String, Vec<i64>) {
    let key: Value = serde_json::from_str(key).unwrap();
    let (mut stack, mut sizes) = (vec![&key], Vec::new());
    while let Some(value) = stack.pop() {
        match value {
            Value::Array(items) => stack.extend(items.iter().rev()),
            other => sizes.extend(other.as_i64()),
        }
    }
    (key[0].as_str().unwrap().to_owned(), sizes)
}

/// Steps of records reference stages by the operation indices used here: the extent of the first split equals a
/// dimension of its operation.
#[test]
fn steps_of_real_records_refer_to_operations_by_index() {
    let (Some(files), Some(logs)) = (tasks(), shared::path("data/tenset/tutorial-logs")) else {
        return;
    };
    let tasks_by_sizes = files.values().flatten();
    let tasks_by_sizes: BTreeMap<_, _> = tasks_by_sizes
        .map(|task| (sizes(&task.workload_key), task))
        .collect();
    let (mut records, mut splits) = (0, 0);
    for entry in fs::read_dir(logs).unwrap() {
        let Ok(text) = fs::read_to_string(entry.unwrap().path()) else {
            continue;
        };
        for line in text.lines().filter(|line| line.starts_with('{')) {
            let record: Value = serde_json::from_str(line).unwrap();
            let Some(task) = record["i"][0][0]
                .as_str()
                .and_then(|key| tasks_by_sizes.get(&sizes(key)))
            else {
                continue;
            };
            records += 1;
            let mut split_stages = Vec::new();
            for step in record["i"][1][1].as_array().unwrap() {
                let argument =
                    |index: usize| usize::try_from(step[index].as_u64().unwrap()).unwrap();
                let operation = &task.dag.operations[argument(1)];
                match step[0].as_str().unwrap() {
                    // These steps insert stages, so that others move. A cached stage may be an input.
                    "CHR" | "CHW" | "RF" => break,
                    "SP" if !split_stages.contains(&argument(1))
                        && argument(2) < operation.shape.len() =>
                    {
                        assert_eq!(operation.shape[argument(2)], step[3].as_i64(), "{line}");
                        splits += 1;
                    }
                    _ => {}
                }
                assert_eq!(operation.op_type, "ComputeOp", "{step}");
                split_stages.push(argument(1));
            }
        }
    }
    assert!(records >= 10 && splits >= 5, "{records} {splits}");
}

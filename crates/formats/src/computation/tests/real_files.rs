//! Computations of real files, which are not part of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::computation::{Computation, computation_of_module};
use crate::metaschedule::workload::read_lines;
use crate::shared;
use crate::tenset::networks::{NetworkContent, Task, read};

/// Folder; number of workloads.
const DATABASES: [(&str, usize); 4] = [
    ("a100-resnet34", 20),
    ("cpu-c2d-0.27", 1),
    ("cpu-gmm-0.27", 1),
    ("cpu-sfm-0.27", 1),
];

/// Tasks of all networks.
fn tasks() -> Option<Vec<Task>> {
    let mut all_tasks = Vec::new();
    for entry in fs::read_dir(shared::path("data/tenset/network_info")?).unwrap() {
        let path = entry.unwrap().path();
        let NetworkContent::Network(tasks) = read(&fs::read(&path).unwrap()).unwrap() else {
            panic!("{}", path.display());
        };
        all_tasks.extend(tasks);
    }
    Some(all_tasks)
}

/// Computations of the workloads of all databases, by structural hash.
fn workloads() -> Option<BTreeMap<u64, Computation>> {
    let mut computations = BTreeMap::new();
    for (name, count) in DATABASES {
        let path = format!("data/metaschedule/{name}/database_workload.json");
        let text = shared::bytes(&path)?;
        let workloads = read_lines(&text, false).map(|line| line.workload.unwrap());
        let count_before = computations.len();
        computations.extend(
            workloads.map(|entry| (entry.hash, computation_of_module(&entry.module).unwrap())),
        );
        assert_eq!(computations.len(), count_before + count);
    }
    Some(computations)
}

/// TenSet's workload keys are TVM's hash of the computation, and sizes. Two tasks have the same form if and only if
/// they have the same key, on CPUs and on GPUs.
#[test]
fn every_real_task_has_a_form_and_one_for_each_workload_key() {
    let Some(tasks) = tasks() else { return };
    assert_eq!(tasks.len(), 204);
    let (mut forms, mut keys) = (BTreeMap::new(), BTreeMap::new());
    for task in &tasks {
        let form = &task.computation.as_ref().unwrap().text;
        let key = task.workload_key.as_str();
        assert_eq!(forms.entry(form).or_insert(key), &key);
        let (_, targets) = keys.entry(key).or_insert((form, BTreeSet::new()));
        targets.insert(&task.target.kind);
        assert_eq!(keys[key].0, form);
    }
    let both = keys.values().filter(|(_, targets)| targets.len() == 2);
    assert_eq!((forms.len(), both.count()), (104, 88));
}

/// Workloads with different structural hashes have different forms.
#[test]
fn every_real_workload_has_a_form_of_its_own() {
    let Some(workloads) = workloads() else { return };
    let forms: BTreeSet<&str> = workloads
        .values()
        .map(|computation| computation.text.as_str())
        .collect();
    let hashes: BTreeSet<String> = workloads.values().map(Computation::hash).collect();
    assert_eq!((workloads.len(), forms.len(), hashes.len()), (23, 23, 23));
}

/// The last layer of ResNet-18 in auto_scheduler is that of ResNet-34 in MetaSchedule. All other layers have another
/// layout there (NCHW instead of NHWC), or other sizes.
#[test]
fn one_real_computation_has_one_form_in_two_tools() {
    let (Some(tasks), Some(workloads)) = (tasks(), workloads()) else {
        return;
    };
    let mut pairs = BTreeSet::new();
    for (hash, computation) in &workloads {
        let equal_tasks = tasks
            .iter()
            .filter(|task| task.computation.as_ref() == Ok(computation));
        pairs.extend(
            equal_tasks.map(|task| (*hash, task.target.kind.as_str(), task.workload_key.as_str())),
        );
    }
    let key = "[\"9847f8cc0b305137f49f2c5c0c8ab25d\", 1, 512, 1000, 512, 1000, 1, 1000]";
    let hash = 14_323_817_316_436_100_562;
    assert_eq!(
        pairs.into_iter().collect::<Vec<_>>(),
        [(hash, "cuda", key), (hash, "llvm", key)]
    );
    let expected = "in0: float32[512]\n\
        in1: float32[1000, 512]\n\
        in2: float32[1000]\n\
        s0: float32[1000] = sum over [512] from 0.0:float32 of mul:float32(in0[r0], in1[i0, r0])\n\
        s1: float32[1000] = add:float32(s0[i0], in2[i0])\n\
        out: s1\n";
    assert_eq!(workloads[&hash].text, expected);
}

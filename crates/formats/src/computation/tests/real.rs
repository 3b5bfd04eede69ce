//! x

use crate::computation::of_module;
use crate::metaschedule::workload::lines;
use crate::shared;
use crate::tenset::networks::{Content, read};

#[test]
fn show() {
    for name in [
        "a100-resnet34",
        "cpu-gmm-0.27",
        "cpu-sfm-0.27",
        "cpu-c2d-0.27",
    ] {
        let text =
            shared::bytes(&format!("data/metaschedule/{name}/database_workload.json")).unwrap();
        for line in lines(&text, false) {
            let w = line.workload.unwrap();
            match of_module(&w.module) {
                Ok(c) => eprintln!("== {name} {} {}\n{}", w.hash, c.hash(), c.text),
                Err(e) => eprintln!("== {name} {} FAIL {e}", w.hash),
            }
        }
    }
    for entry in std::fs::read_dir(shared::path("data/tenset/network_info").unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let t = std::time::Instant::now();
        let Content::Network(tasks) = read(&std::fs::read(&path).unwrap()).unwrap() else {
            panic!()
        };
        eprintln!("{path:?} {:?}", t.elapsed());
        for task in tasks {
            match task.computation {
                Ok(c) => eprintln!(
                    "== {} {} {}\n{}",
                    task.target.kind,
                    task.workload_key,
                    c.hash(),
                    c.text
                ),
                Err(e) => eprintln!("== {} FAIL {e}", task.workload_key),
            }
        }
    }
}

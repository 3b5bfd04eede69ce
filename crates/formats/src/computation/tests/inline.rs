//! Graphs of TVM 0.21 to 0.26, which store constants with their types inside of their nodes. TVM 0.25.0 wrote
//! `dense_0_25.json`: a matrix product, its maximum with 0.5, and the exponential of that.

use crate::computation::computation_of_module;
use crate::metaschedule::workload::{read_lines, write};
use crate::tvm_json::TvmGraph;

const DENSE: &str = include_str!("dense_0_25.json");

/// Computed by hand from the definition of the program.
const FORM: &str = "in0: float32[6, 8]\nin1: float32[4, 8]\n\
    s0: float32[6, 4] = sum over [8] from 0.0:float32 of mul:float32(in0[i0, r0], in1[i1, r0])\n\
    s1: float32[6, 4] = exp:float32(max:float32(s0[i0, i1], 0.5:float32))\nout: s1\n";

/// The same graph with the type names of TVM 0.23.
fn earlier() -> String {
    let text = DENSE.replace("tirx.", "tir.").replace("SBlock", "Block");
    text.replace(", \"step\": 0", "")
        .replace("0.25.0", "0.23.0")
}

#[test]
fn constants_within_nodes_are_read() {
    for json in [DENSE, &earlier()] {
        let graph = TvmGraph::read(json.as_bytes()).unwrap();
        let computation = computation_of_module(&graph).unwrap();
        assert_eq!(computation.text.trim_end(), FORM.trim_end());
    }
}

#[test]
fn arguments_of_such_a_workload_are_parsed() {
    for (json, version) in [(DENSE, "0.25.0"), (&earlier(), "0.23.0")] {
        let mut line = Vec::new();
        write(7, json.as_bytes(), &mut line);
        let parsed = read_lines(&line, false).next().unwrap().workload.unwrap();
        let tensor =
            |rows: u32, columns: u32| format!("[\"TENSOR\", \"float32\", [{rows}, {columns}]]");
        let arguments = [tensor(6, 8), tensor(4, 8), tensor(6, 4)].join(", ");
        assert_eq!(parsed.arguments(), Some(format!("[{arguments}]")));
        assert_eq!(parsed.key(), Some(format!("[\"7\", [{arguments}]]")));
        assert_eq!(parsed.module.tvm_version.as_deref(), Some(version));
    }
}

//! Rows of the tables that `network_info` fills.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, Int64Builder, ListBuilder, StringArray, StringBuilder,
};
use serde::Serialize;
use tsql_formats::tenset;
use tsql_formats::tenset::networks::{Network, Relay, Task};
use tsql_schema::column::arrays::{Columns, int64_array, text_array};

use crate::formats::graphs::{form_columns, graph_columns};

/// Graphs of tasks, with the same keys as in TenSet's logs.
pub(super) fn task_graph_columns(tasks: &[&(i64, Task)]) -> Columns {
    let keys = tasks
        .iter()
        .map(|(id, task)| (*id, task.workload_key.as_str()));
    graph_columns(keys.map(|(id, key)| (id, (tenset::NAME, key))))
}

/// Columns of `tasks`: what tasks compute.
pub(super) fn task_columns(tasks: &[&(i64, Task)]) -> Columns {
    let all = || tasks.iter().map(|(_, task)| task);
    let ops: StringArray = all().map(|task| task.dag.class()).collect();
    let flops: Float64Array = all().map(|task| task.dag.flop_count).collect();
    let operations = all().map(|task| task.dag.operations.len());
    let edges = all().map(|task| task.dag.edges().count());
    let forms = all().map(|task| task.computation.as_ref().ok());
    let mut columns = BTreeMap::from([
        ("graph_id", int64_array(tasks.iter().map(|(id, _)| *id))),
        ("op", Arc::new(ops) as ArrayRef),
        ("flop_count", Arc::new(flops)),
        ("tensors", text_array(all().map(|task| json(&task.tensors)))),
        (
            "operations",
            text_array(all().map(|task| json(&task.dag.operations))),
        ),
        ("operation_count", int64_array(operations.map(count))),
        ("edge_count", int64_array(edges.map(count))),
    ]);
    columns.extend(form_columns(forms));
    columns
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Strings, numbers and lists always serialise to JSON.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Columns from the file names of networks.
#[derive(Default)]
struct NetworkColumns {
    networks: Vec<Option<String>>,
    shapes: Vec<Option<String>>,
}

impl NetworkColumns {
    fn push(&mut self, network: Option<&Network>) {
        self.networks
            .push(network.map(|network| network.name.clone()));
        self.shapes
            .push(network.map(|network| json(&network.shapes)));
    }

    fn finish(self) -> [(&'static str, ArrayRef); 2] {
        [
            (
                "network",
                Arc::new(StringArray::from(self.networks)) as ArrayRef,
            ),
            ("input_shapes", Arc::new(StringArray::from(self.shapes))),
        ]
    }
}

/// Builder for rows of `network_tasks`.
#[derive(Default)]
pub(super) struct NetworkTasks {
    sources: Vec<i64>,
    lines: Vec<i64>,
    named: NetworkColumns,
    kinds: Vec<Option<String>>,
    weights: Vec<Option<i64>>,
    graphs: Vec<i64>,
    targets: Vec<String>,
    hosts: Vec<Option<String>>,
    hardware: ListBuilder<Int64Builder>,
    layouts: Vec<i64>,
    inputs: ListBuilder<StringBuilder>,
}

impl NetworkTasks {
    pub(super) fn push(
        &mut self,
        source_id: i64,
        network: Option<&Network>,
        graph: i64,
        task: &Task,
    ) {
        self.sources.push(source_id);
        self.lines.push(count(task.index).saturating_add(1));
        self.named.push(network);
        self.kinds
            .push(network.and_then(|network| network.target.clone()));
        self.weights.push(task.weight);
        self.graphs.push(graph);
        self.targets.push(task.target.text());
        self.hosts
            .push(task.target_host.as_ref().map(|host| host.text()));
        let hardware = task.hardware.record_parameters();
        self.hardware
            .append_option(hardware.map(|list| list.map(Some)));
        self.layouts.push(task.layout_rewrite_option);
        self.inputs.append_value(task.input_names.iter().map(Some));
    }

    pub(super) fn finish(mut self) -> Columns {
        let mut columns = BTreeMap::from([
            ("source_id", int64_array(self.sources)),
            ("line", int64_array(self.lines)),
            (
                "target_kind",
                Arc::new(StringArray::from(self.kinds)) as ArrayRef,
            ),
            ("weight", Arc::new(Int64Array::from(self.weights))),
            ("graph_id", int64_array(self.graphs)),
            ("target", text_array(self.targets)),
            ("target_host", Arc::new(StringArray::from(self.hosts))),
            ("hardware_params", Arc::new(self.hardware.finish())),
            ("layout_rewrite_option", int64_array(self.layouts)),
            ("task_input_names", Arc::new(self.inputs.finish())),
        ]);
        columns.extend(self.named.finish());
        columns
    }
}

/// Builder for rows of `relays`.
#[derive(Default)]
pub(super) struct Relays {
    sources: Vec<i64>,
    named: NetworkColumns,
    parameter_bytes: Vec<i64>,
    inputs: Vec<String>,
    modules: Vec<String>,
}

impl Relays {
    pub(super) fn push(&mut self, source_id: i64, network: Option<&Network>, relay: &Relay) {
        self.sources.push(source_id);
        self.named.push(network);
        self.parameter_bytes
            .push(relay.parameter_bytes.cast_signed());
        self.inputs.push(json(&relay.inputs));
        self.modules.push(relay.module.clone());
    }

    pub(super) fn finish(self) -> Columns {
        let lines = self.sources.iter().map(|_| 1);
        let mut columns = BTreeMap::from([
            ("line", int64_array(lines)),
            ("source_id", int64_array(self.sources)),
            ("parameter_bytes", int64_array(self.parameter_bytes)),
            ("inputs", text_array(self.inputs)),
            ("module", text_array(self.modules)),
        ]);
        columns.extend(self.named.finish());
        columns
    }
}

//! Rows of `workloads`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Int64Array, ListBuilder, StringArray, StringBuilder};
use tsql_formats::Folder;
use tsql_formats::computation::Computation;
use tsql_formats::metaschedule::workload::Function;
use tsql_schema::column::arrays::{Columns, int64_array, text_array};

use super::parsed::Line;
use crate::formats::graphs::form_columns;

/// Builder for rows of `workloads`.
#[derive(Default)]
pub(super) struct WorkloadRows {
    sources: Vec<i64>,
    lines: Vec<i64>,
    databases: Vec<String>,
    folders: Vec<String>,
    hashes: Vec<String>,
    graphs: Vec<Option<i64>>,
    arguments: Vec<Option<String>>,
    blocks: ListBuilder<StringBuilder>,
    versions: Vec<Option<String>>,
    forms: Vec<Option<Computation>>,
    modules: Vec<i64>,
    verbatim: BinaryBuilder,
}

impl WorkloadRows {
    pub(super) fn push(
        &mut self,
        source_id: i64,
        folder: &Folder,
        graph: Option<i64>,
        module: i64,
        line: &Line,
    ) {
        let workload = &line.workload;
        let functions = &workload.functions;
        self.sources.push(source_id);
        self.lines.push(line.number.cast_signed());
        self.databases.push(folder.name.clone());
        self.folders.push(folder.hash.clone());
        self.hashes.push(workload.hash.to_string());
        self.graphs.push(graph);
        self.arguments.push(workload.arguments());
        let blocks = functions.iter().flat_map(|Function { blocks, .. }| blocks);
        self.blocks.append_value(blocks.map(Some));
        self.versions.push(workload.module.tvm_version.clone());
        self.forms.push(line.computation.as_ref().ok().cloned());
        self.modules.push(module);
        self.verbatim.append_option(line.verbatim.as_deref());
    }

    pub(super) fn finish(mut self) -> Columns {
        let forms = form_columns(self.forms.iter().map(Option::as_ref));
        let mut columns = BTreeMap::from([
            ("source_id", int64_array(self.sources)),
            ("line", int64_array(self.lines)),
            ("database", text_array(self.databases)),
            ("folder_hash", text_array(self.folders)),
            ("structural_hash", text_array(self.hashes)),
            (
                "graph_id",
                Arc::new(Int64Array::from(self.graphs)) as ArrayRef,
            ),
            ("arguments", Arc::new(StringArray::from(self.arguments))),
            ("blocks", Arc::new(self.blocks.finish())),
            ("tvm_version", Arc::new(StringArray::from(self.versions))),
            ("text_id", int64_array(self.modules)),
            ("verbatim", Arc::new(self.verbatim.finish())),
        ]);
        columns.extend(forms);
        columns
    }
}

//! Converts samples to Arrow columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use tsql_codecs::graph::{pack_numbers, pack_steps};
use tsql_codecs::identity::sample_id;
use tsql_codecs::opgraph::{OpGraph, OpType};
use tsql_codecs::tensors::{self, PackedTensors};
use tsql_error::Result;
use tsql_formats::graphnet::NAME;
use tsql_formats::graphnet::sample::Sample;
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array, repeat_text};

use crate::dedupe::NodeKey;

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Identity of an operation type: its signature and its number of outputs.
pub(super) type CallKey = (String, u32);

impl NodeKey for CallKey {
    const COLUMNS: &'static [&'static str] = &["signature", "output_count"];

    fn read(batch: &RecordBatch) -> Result<Vec<Option<Self>>> {
        let signatures = column::text(batch, "signature")?;
        let outputs = column::numbers::<Int32Type>(batch, "output_count")?;
        let read = |row| {
            let signature = column::text_at(signatures, row)?;
            Some((signature.to_owned(), outputs.value(row).cast_unsigned()))
        };
        Ok((0..batch.num_rows()).map(read).collect())
    }
}

/// Rows of `node_types`: numbers and types.
pub(super) fn node_type_columns(types: &[(i64, &(CallKey, &OpType))]) -> Columns {
    let text = |text: fn(&OpType) -> Option<&str>| -> ArrayRef {
        Arc::new(
            types
                .iter()
                .map(|(_, (_, one))| text(one))
                .collect::<StringArray>(),
        )
    };
    let outputs = types.iter().map(|(_, (_, one))| one.outputs.cast_signed());
    BTreeMap::from([
        ("node_type_id", int64_array(types.iter().map(|(id, _)| *id))),
        ("op_name", text(|one| one.op.as_deref())),
        ("op_kind", text(|one| Some(one.kind))),
        ("target", text(|one| one.target.as_deref())),
        ("attributes", text(|one| Some(&one.attributes))),
        ("signature", text(|one| Some(&one.signature))),
        ("places", text(|one| Some(&one.places))),
        (
            "output_count",
            Arc::new(Int32Array::from_iter_values(outputs)) as ArrayRef,
        ),
    ])
}

/// A row of `graphs`.
pub(super) struct GraphRow<'a> {
    pub(super) key: &'a str,
    /// Numbers of its node types.
    pub(super) types: Vec<i64>,
    pub(super) graph: &'a OpGraph,
    pub(super) output_types: &'a [String],
}

/// One line per text. `None` if all are empty.
fn lines(texts: &[String]) -> Option<String> {
    let any = texts.iter().any(|text| !text.is_empty());
    any.then(|| texts.iter().map(|text| format!("{text}\n")).collect())
}

/// Rows of `graphs`.
pub(super) fn graph_columns(rows: &[&(i64, GraphRow<'_>)]) -> Columns {
    let ids = rows.iter().map(|(id, _)| *id);
    let rows: Vec<&GraphRow<'_>> = rows.iter().map(|(_, row)| row).collect();
    let number =
        |number: fn(&GraphRow<'_>) -> usize| int64_array(rows.iter().map(|row| count(number(row))));
    let packed = |pack: fn(&GraphRow<'_>) -> Vec<u8>| -> ArrayRef {
        Arc::new(BinaryArray::from_iter_values(
            rows.iter().copied().map(pack),
        ))
    };
    let text = |text: fn(&GraphRow<'_>) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().copied().map(text).collect::<StringArray>())
    };
    let unparsed = |row: &GraphRow<'_>| row.graph.ops().filter(Option::is_none).count();
    BTreeMap::from([
        ("graph_id", int64_array(ids)),
        ("dataset", repeat_text(NAME, rows.len())),
        ("workload_key", text(|row| Some(row.key.to_owned()))),
        ("kind", text(|row| Some(row.graph.framework.to_owned()))),
        ("node_count", number(|row| row.graph.type_of_node.len())),
        ("edge_count", number(|row| row.graph.edge_count())),
        (
            "argument_count",
            number(|row| row.graph.argument_count as usize),
        ),
        (
            "shape_free_hash",
            text(|row| Some(row.graph.shape_free_hash())),
        ),
        (
            "op_sequence_hash",
            text(|row| Some(row.graph.op_sequence_hash())),
        ),
        ("unparsed_count", number(unparsed)),
        ("types", packed(|row| pack_steps(&row.types))),
        (
            "type_of_node",
            packed(|row| pack_numbers(&row.graph.type_of_node)),
        ),
        ("edges", packed(|row| row.graph.pack_operands())),
        ("returns", packed(|row| row.graph.pack_returns())),
        ("output_types", text(|row| lines(row.output_types))),
    ])
}

/// A row of `samples`.
pub(super) struct SampleRow<'a> {
    pub(super) path: String,
    pub(super) variant_of: Option<&'a str>,
    pub(super) files_hash: &'a str,
    pub(super) graph_id: Option<i64>,
    /// Number of arguments and of operations of the graph.
    pub(super) size: Option<(usize, usize)>,
    pub(super) sample: &'a Sample,
    /// Whether to store the value types here, because the row of the graph may have others.
    pub(super) own_types: bool,
}

impl SampleRow<'_> {
    pub(super) fn sample_id(&self) -> i64 {
        sample_id(&self.path, self.files_hash)
    }

    /// Number of tensors that are parameters, and of their elements.
    fn parameters(&self) -> (i64, i64) {
        let tensors = self.sample.tensors.iter();
        let parameters = tensors.filter(|tensor| tensors::tensor_kind(tensor) == "parameter");
        let sizes = parameters.map(|tensor| tensors::element_count(tensor).unwrap_or(0));
        sizes.fold((0, 0_i64), |(count, sum), size| {
            (count + 1, sum.saturating_add(size))
        })
    }

    fn problems(&self) -> Option<String> {
        let lines = self.sample.problems.iter();
        let lines: String = lines
            .map(|(file, line, reason)| format!("{file}:{line}: {reason}\n"))
            .collect();
        (!lines.is_empty()).then_some(lines)
    }
}

/// Rows of `samples`.
pub(super) fn sample_columns(rows: &[&(i64, SampleRow<'_>)]) -> Columns {
    let ids = rows.iter().map(|(id, _)| *id);
    let rows: Vec<&SampleRow<'_>> = rows.iter().map(|(_, row)| row).collect();
    let packed: Vec<PackedTensors> = rows
        .iter()
        .map(|row| PackedTensors::pack(&row.sample.tensors))
        .collect();
    let maybe = |number: fn(&SampleRow<'_>) -> Option<usize>| -> ArrayRef {
        let numbers = rows.iter().map(|row| number(row).map(count));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let text = |text: fn(&SampleRow<'_>) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().copied().map(text).collect::<StringArray>())
    };
    let graphs: Int64Array = rows.iter().map(|row| row.graph_id).collect();
    let mut columns: Columns = BTreeMap::from([
        ("sample_id", int64_array(ids)),
        ("path", text(|row| Some(row.path.clone()))),
        ("variant_of", text(|row| row.variant_of.map(str::to_owned))),
        (
            "framework",
            text(|row| Some(row.sample.framework.to_owned())),
        ),
        ("graph_id", Arc::new(graphs) as ArrayRef),
        ("argument_count", maybe(|row| row.size.map(|size| size.0))),
        ("node_count", maybe(|row| row.size.map(|size| size.1))),
        ("tensor_count", maybe(|row| Some(row.sample.tensors.len()))),
        (
            "parameter_count",
            int64_array(rows.iter().map(|row| row.parameters().0)),
        ),
        (
            "parameter_elements",
            int64_array(rows.iter().map(|row| row.parameters().1)),
        ),
        ("symbols", text(|row| row.sample.symbols.clone())),
        (
            "upstream_hash",
            text(|row| row.sample.upstream_hash.clone()),
        ),
        ("model_hash", text(|row| row.sample.model_hash.clone())),
        ("files_hash", text(|row| Some(row.files_hash.to_owned()))),
        ("metadata", text(|row| row.sample.metadata.clone())),
        ("problems", text(|row| row.problems())),
        (
            "symbol_imports",
            text(|row| row.sample.symbol_imports.map(str::to_owned)),
        ),
        ("weight_count", maybe(|row| Some(row.sample.weight_count))),
        (
            "argument_names",
            text(|row| row.sample.argument_names().and_then(lines)),
        ),
        ("model_prelude", text(|row| row.sample.prelude.clone())),
        ("annotations", text(|row| row.sample.annotations.clone())),
        (
            "value_names",
            text(|row| lines(&row.sample.program.as_ref()?.names)),
        ),
    ]);
    columns.insert(
        "output_types",
        text(|row| {
            let program = row.sample.program.as_ref().filter(|_| row.own_types)?;
            row.sample.layout.as_ref()?;
            lines(&program.output_types)
        }),
    );
    let layouts = rows.iter().map(|row| row.sample.layout.as_deref());
    columns.insert("model_layout", Arc::new(layouts.collect::<BinaryArray>()));
    for (place, column) in PackedTensors::COLUMNS.into_iter().enumerate() {
        let texts = packed.iter().map(|packed| packed.texts.get(place));
        let texts = texts.map(|text| text.filter(|text| !text.is_empty()));
        columns.insert(column, Arc::new(texts.collect::<StringArray>()));
    }
    let data = packed.iter().map(|packed| packed.data.as_slice());
    let data = BinaryArray::from_iter_values(data);
    columns.insert("tensor_data", Arc::new(data));
    columns
}

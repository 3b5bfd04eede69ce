//! `unpack_nodes`, `unpack_edges`, `unpack_steps`: the packed parts of a graph as lists, which the
//! views `nodes` and `edges` unnest.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use datafusion::common::cast::{as_binary_view_array, as_primitive_array};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::logical_expr::ScalarUDF;

use crate::graph::{unpack_edges, unpack_numbers, unpack_steps};

/// Number and node type of each node.
pub(super) fn nodes() -> ScalarUDF {
    let types = vec![DataType::BinaryView, DataType::BinaryView];
    super::function(
        "unpack_nodes",
        types,
        pairs_type("node", "type"),
        node_lists,
    )
}

/// User and operand of each edge.
pub(super) fn edges() -> ScalarUDF {
    let types = vec![DataType::BinaryView, DataType::Int64];
    super::function(
        "unpack_edges",
        types,
        pairs_type("user", "operand"),
        edge_lists,
    )
}

/// Numbers that were packed as steps from one to the next.
pub(super) fn steps() -> ScalarUDF {
    let list = DataType::new_list(DataType::Int64, true);
    super::function("unpack_steps", vec![DataType::BinaryView], list, step_lists)
}

fn fields(first: &str, second: &str) -> Fields {
    Fields::from(vec![
        Field::new(first, DataType::Int64, true),
        Field::new(second, DataType::Int64, true),
    ])
}

fn pairs_type(first: &str, second: &str) -> DataType {
    DataType::new_list(DataType::Struct(fields(first, second)), true)
}

/// Lists of one or two numbers that are being made.
#[derive(Default)]
struct Lists {
    columns: [Vec<i64>; 2],
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Lists {
    /// Ends a list to which `length` entries were added; `None` is NULL.
    fn end(&mut self, length: Option<usize>) {
        self.lengths.push(length.unwrap_or(0));
        self.valid.push(length.is_some());
    }

    fn finish(self, values: impl FnOnce([ArrayRef; 2]) -> ArrayRef) -> Result<ArrayRef> {
        let columns = self.columns;
        let columns = columns.map(|column| Arc::new(Int64Array::from(column)) as ArrayRef);
        let values = values(columns);
        let field = Field::new_list_field(values.data_type().clone(), true);
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let valid = NullBuffer::from(self.valid);
        Ok(Arc::new(ListArray::try_new(
            Arc::new(field),
            offsets,
            values,
            Some(valid),
        )?))
    }
}

fn damaged(what: &str) -> datafusion::common::DataFusionError {
    exec_datafusion_err!("graphs: damaged {what}")
}

fn node_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let types = as_binary_view_array(super::argument(args, 0)?)?;
    let places = as_binary_view_array(super::argument(args, 1)?)?;
    let mut lists = Lists::default();
    for (types, places) in types.iter().zip(places.iter()) {
        let (Some(types), Some(places)) = (types, places) else {
            lists.end(None);
            continue;
        };
        let types = unpack_steps(types).ok_or_else(|| damaged("node types"))?;
        let places = unpack_numbers(places).ok_or_else(|| damaged("nodes"))?;
        let [numbers, ids] = &mut lists.columns;
        for (number, place) in (0..).zip(&places) {
            let Some(&id) = types.get(*place as usize) else {
                return exec_err!("graphs: a node of a type that the graph does not have");
            };
            numbers.push(number);
            ids.push(id);
        }
        lists.end(Some(places.len()));
    }
    lists.finish(|columns| {
        Arc::new(StructArray::new(
            fields("node", "type"),
            columns.to_vec(),
            None,
        ))
    })
}

fn edge_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let packed = as_binary_view_array(super::argument(args, 0)?)?;
    let counts = as_primitive_array::<Int64Type>(super::argument(args, 1)?)?;
    let mut lists = Lists::default();
    for (packed, count) in packed.iter().zip(counts.iter()) {
        let (Some(packed), Some(count)) = (packed, count) else {
            lists.end(None);
            continue;
        };
        let count = usize::try_from(count).map_err(|_| damaged("node count"))?;
        let edges = unpack_edges(packed, count).ok_or_else(|| damaged("edges"))?;
        let [users, operands] = &mut lists.columns;
        for &(user, operand) in &edges {
            users.push(user.into());
            operands.push(operand.into());
        }
        lists.end(Some(edges.len()));
    }
    lists.finish(|columns| {
        Arc::new(StructArray::new(
            fields("user", "operand"),
            columns.to_vec(),
            None,
        ))
    })
}

fn step_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let packed = as_binary_view_array(super::argument(args, 0)?)?;
    let mut lists = Lists::default();
    for packed in packed.iter() {
        let Some(packed) = packed else {
            lists.end(None);
            continue;
        };
        let steps = unpack_steps(packed).ok_or_else(|| damaged("list of nodes"))?;
        lists.end(Some(steps.len()));
        let [numbers, _] = &mut lists.columns;
        numbers.extend(steps);
    }
    lists.finish(|[numbers, _]| numbers)
}

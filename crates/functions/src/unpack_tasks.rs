//! `task_operations`, `task_uses`: operations of a task and their edges as lists, which the views `nodes` and `edges`
//! unnest.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, Int64Builder, ListBuilder, StringViewArray};
use arrow::datatypes::{DataType, Fields};
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use datafusion::common::exec_datafusion_err;
use serde::Deserialize;

use super::function_docs::FunctionDocs;
use super::lists::{ListLengths, list_type, nullable_fields};
use super::scalar::{Scalar, argument};

/// An operation in the format of `tasks.operations`.
#[derive(Deserialize)]
struct Operation {
    op_type: String,
    name: String,
    tag: String,
    shape: Vec<Option<i64>>,
    dtype: Option<String>,
    inputs: Vec<i64>,
}

fn operation_fields() -> Fields {
    nullable_fields([
        ("node", DataType::Int64),
        ("op", DataType::Utf8View),
        ("kind", DataType::Utf8View),
        ("name", DataType::Utf8View),
        ("shape", DataType::new_list(DataType::Int64, true)),
        ("dtype", DataType::Utf8View),
    ])
}

fn use_fields() -> Fields {
    nullable_fields([("user", DataType::Int64), ("operand", DataType::Int64)])
}

/// `task_operations`: the operations of a task.
pub(super) fn operations_udf() -> Scalar {
    let about = FunctionDocs::new(
        "task_operations",
        "Operations of a task: number, tag (or name if it has no tag), kind, name, shape and data type of each",
        "SELECT unnest(task_operations(operations)) FROM tasks LIMIT 1",
    )
    .argument("operations", DataType::Utf8View, "`tasks.operations`").source("TVM's tensor expressions; tsql: `tasks` in `schemas/tasks.toml`");
    Scalar::new(&about, list_type(operation_fields()), operation_lists)
}

/// `task_uses`: the edges between operations.
pub(super) fn uses_udf() -> Scalar {
    let about = FunctionDocs::new(
        "task_uses",
        "User and operand of each use of one operation of a task by another",
        "SELECT unnest(task_uses(operations)) FROM tasks LIMIT 1",
    )
    .argument("operations", DataType::Utf8View, "`tasks.operations`")
    .source("TVM's tensor expressions; tsql: `tasks` in `schemas/tasks.toml`");
    Scalar::new(&about, list_type(use_fields()), use_lists)
}

/// Parses the operations of each row; NULL for rows without text.
fn parse_operations(args: &[ArrayRef]) -> Result<Vec<Option<Vec<Operation>>>> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let read = |text: &str| {
        serde_json::from_str(text)
            .map_err(|error| exec_datafusion_err!("not a list of operations: {error}"))
    };
    texts
        .iter()
        .map(|text| text.map(read).transpose())
        .collect()
}

fn operation_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let rows = parse_operations(args)?;
    let mut lengths = ListLengths::default();
    let all = || rows.iter().flatten().flatten();
    let mut numbers = Vec::new();
    for row in &rows {
        let count = row.as_ref().map(Vec::len);
        lengths.push(count);
        numbers.extend((0..).take(count.unwrap_or(0)));
    }
    let mut shapes = ListBuilder::new(Int64Builder::new());
    for operation in all() {
        shapes.append_value(operation.shape.iter().copied());
    }
    let text = |of: fn(&Operation) -> Option<&str>| -> ArrayRef {
        Arc::new(all().map(of).collect::<StringViewArray>())
    };
    let columns = vec![
        Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef,
        text(|operation| {
            let tag = Some(operation.tag.as_str()).filter(|tag| !tag.is_empty());
            tag.or(Some(&operation.name))
        }),
        text(|operation| Some(&operation.op_type)),
        text(|operation| Some(&operation.name)),
        Arc::new(shapes.finish()),
        text(|operation| operation.dtype.as_deref()),
    ];
    lengths.into_struct_lists(operation_fields(), columns)
}

fn use_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lengths = ListLengths::default();
    let (mut users, mut operands) = (Vec::new(), Vec::new());
    for row in parse_operations(args)? {
        let before = users.len();
        for (user, operation) in (0_i64..).zip(row.iter().flatten()) {
            users.extend(operation.inputs.iter().map(|_| user));
            operands.extend(&operation.inputs);
        }
        lengths.push(row.map(|_| users.len() - before));
    }
    let columns = [users, operands].map(|numbers| Arc::new(Int64Array::from(numbers)) as ArrayRef);
    lengths.into_struct_lists(use_fields(), columns.to_vec())
}

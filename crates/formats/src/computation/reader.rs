//! Reads the expressions of a graph.

use std::collections::HashMap;

use ahash::RandomState;

use super::expression::{Expression, ExpressionForm};
use super::index::LinearIndex;
use super::node_access::{dtype, float_value, integer_value, kind, require_empty, unexpected_node};
use super::operators::{arithmetic, call, cast, comparison, logic, not, select};
use super::stage::Tensors;
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph, post_order};

/// Limit for the total size of all intermediate texts of a computation, in bytes. Genuine computations need less than a
/// tenth of it.
const TEXT_BYTES: usize = 16 << 20;

/// Axes by the node index of their variable.
pub(super) type Axes = HashMap<usize, LinearIndex, RandomState>;

/// Adds axes with these node indices and extents, named `i0`, `i1`, ... after `prefix`. Axes of extent 1 become 0.
///
/// # Errors
/// Returns an error if an axis is already present.
pub(super) fn name_axes(
    axes: &mut Axes,
    prefix: char,
    extents: impl IntoIterator<Item = (usize, i64)>,
) -> Result<(), Error> {
    let mut count = 0;
    for (node_index, extent) in extents {
        let axis = LinearIndex::variable(format!("{prefix}{count}"), (0, extent - 1));
        if axes.insert(node_index, axis).is_some() {
            return Err(Error::wrong("an axis with two ranges"));
        }
        count += i32::from(extent > 1);
    }
    Ok(())
}

/// Reader of the expressions of a graph.
pub(super) struct ExpressionReader<'a> {
    pub(super) graph: &'a TvmGraph,
    /// Remaining budget of steps.
    pub(super) budget: StepBudget,
    text_bytes: usize,
}

impl<'a> ExpressionReader<'a> {
    pub(super) fn new(graph: &'a TvmGraph) -> Self {
        let (budget, text_bytes) = (StepBudget::for_graph(graph), TEXT_BYTES);
        Self {
            graph,
            budget,
            text_bytes,
        }
    }

    /// Subtracts `bytes` from the remaining text budget.
    pub(super) fn take_text_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        let remaining = self.text_bytes.checked_sub(bytes);
        self.text_bytes = remaining.unwrap_or(0);
        remaining
            .map(drop)
            .ok_or_else(|| Error::wrong("the computation is too large"))
    }

    /// Returns the constant sizes of a non-empty tensor.
    pub(super) fn tensor_sizes(
        &mut self,
        node: NodeRef<'a>,
        name: &str,
    ) -> Result<Vec<i64>, Error> {
        let sizes = node.follow_list(name)?;
        self.budget.take(sizes.len() as u64)?;
        let sizes: Vec<i64> = sizes
            .into_iter()
            .map(integer_value)
            .collect::<Result<_, _>>()?;
        if sizes.iter().any(|&size| size < 1) {
            return Err(unexpected_node(node, "a tensor with elements"));
        }
        Ok(sizes)
    }

    /// Reads an expression over `axes` that reads from `tensors`.
    ///
    /// # Errors
    /// Returns an error for unsupported expressions.
    pub(super) fn read_expression(
        &mut self,
        root: NodeRef<'a>,
        axes: &Axes,
        tensors: &Tensors,
    ) -> Result<Expression, Error> {
        let graph = self.graph;
        let children = |index| {
            let operands = operands(graph.node(index)?)?;
            Ok(operands.into_iter().map(|operand| operand.index).collect())
        };
        let order = post_order(&[root.index], children, &mut self.budget)?;
        let mut expressions: HashMap<usize, Expression, RandomState> = HashMap::default();
        for index in order {
            let node = graph.node(index)?;
            let operands = operands(node)?;
            let operands = operands
                .iter()
                .map(|operand| expressions.get(&operand.index));
            let operands: Option<Vec<&Expression>> = operands.collect();
            let operands = operands.ok_or_else(|| unexpected_node(node, "an expression"))?;
            let bytes = operands
                .iter()
                .map(|operand| operand.text_length_bound() + 64);
            self.take_text_bytes(bytes.sum::<usize>() + 64)?;
            let expression = build_expression(node, &operands, axes, tensors)?;
            expressions.insert(index, expression);
        }
        expressions
            .remove(&root.index)
            .ok_or_else(|| unexpected_node(root, "an expression"))
    }
}

/// Returns the operands of an expression; empty for unsupported expressions.
fn operands(node: NodeRef<'_>) -> Result<Vec<NodeRef<'_>>, Error> {
    let required = |names: &[&str]| {
        names
            .iter()
            .map(|name| node.follow_required(name))
            .collect()
    };
    match kind(node) {
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "FloorDiv" | "FloorMod" | "Min" | "Max" | "EQ"
        | "NE" | "LT" | "LE" | "GT" | "GE" | "And" | "Or" => required(&["a", "b"]),
        "Not" => required(&["a"]),
        "Cast" => required(&["value"]),
        "Select" => required(&["condition", "true_value", "false_value"]),
        "Call" => node.follow_list("args"),
        "ProducerLoad" | "BufferLoad" | "TensorLoad" => node.follow_list("indices"),
        _ => Ok(Vec::new()),
    }
}

/// Builds an expression from its operands.
fn build_expression(
    node: NodeRef<'_>,
    operands: &[&Expression],
    axes: &Axes,
    tensors: &Tensors,
) -> Result<Expression, Error> {
    let name = kind(node);
    match (name, operands) {
        ("IntImm", []) => Expression::integer(dtype(node)?, integer_value(node)?),
        ("FloatImm", []) => Expression::float(dtype(node)?, float_value(node)?),
        ("Var", []) => {
            let axis = axes.get(&node.index).cloned();
            let axis = axis.ok_or_else(|| unexpected_node(node, "an axis of its stage"))?;
            Expression::index(dtype(node)?, Some(axis))
        }
        (
            "Add" | "Sub" | "Mul" | "Div" | "Mod" | "FloorDiv" | "FloorMod" | "Min" | "Max",
            [a, b],
        ) => arithmetic(name, dtype(node)?, a, b),
        ("EQ" | "NE" | "LT" | "LE" | "GT" | "GE", [a, b]) => comparison(name, a, b),
        ("And" | "Or", [a, b]) => logic(name, a, b),
        ("Not", [a]) => not(a),
        ("Cast", [value]) => cast(dtype(node)?, value),
        ("Select", &[condition, if_true, if_false]) => {
            select("select", dtype(node)?, [condition, if_true, if_false])
        }
        ("Call", arguments) => {
            let function = node.follow_required("op")?;
            let function = function
                .text()
                .ok_or_else(|| unexpected_node(function, "a function"))?;
            call(function, dtype(node)?, arguments)
        }
        ("ProducerLoad" | "BufferLoad" | "TensorLoad", indices) => {
            load_element(node, indices, tensors)
        }
        _ => Err(unexpected_node(node, "a supported expression")),
    }
}

/// Returns the node index of the tensor that an expression reads from: of its producing operation or of its buffer.
///
/// # Errors
/// Returns an error for any but the first result of an operation.
pub(super) fn source_tensor(load: NodeRef<'_>) -> Result<usize, Error> {
    match kind(load) {
        "ProducerLoad" => producer(load.follow_required("producer")?),
        "BufferLoad" => Ok(load.follow_required("buffer")?.index),
        _ => Ok(load.follow_required("source")?.index),
    }
}

/// Returns the node index of the operation that produces a tensor.
///
/// # Errors
/// Returns an error for any but the first result of the operation.
pub(super) fn producer(tensor: NodeRef<'_>) -> Result<usize, Error> {
    if tensor.integer_attribute("value_index")? == 0 {
        Ok(tensor.follow_required("op")?.index)
    } else {
        Err(Error::wrong("an operation with several results"))
    }
}

/// Builds the load of a tensor element.
fn load_element(
    node: NodeRef<'_>,
    indices: &[&Expression],
    tensors: &Tensors,
) -> Result<Expression, Error> {
    require_empty(node, &["predicate"])?;
    let tensor_index = source_tensor(node)?;
    let tensor = tensors.get(&tensor_index);
    let tensor =
        tensor.ok_or_else(|| Error::wrong("an element of a tensor that is not computed yet"))?;
    let dtype = dtype(node)?;
    if dtype != tensor.dtype || indices.len() != tensor.shape.len() {
        return Err(Error::wrong("an element that does not match its tensor"));
    }
    let mut texts = Vec::with_capacity(indices.len());
    for (index, size) in indices.iter().zip(&tensor.shape) {
        let index = index.as_index();
        let index = index.ok_or_else(|| Error::wrong("an index that is computed from tensors"))?;
        if *size > 1 {
            texts.push(index.text());
        } else if !index
            .range()
            .is_some_and(|(minimum, maximum)| minimum <= 0 && 0 <= maximum)
        {
            return Err(Error::wrong("an element outside its tensor"));
        }
    }
    let form = ExpressionForm::Other(format!("@{tensor_index}[{}]", texts.join(", ")));
    Ok(Expression { dtype, form })
}

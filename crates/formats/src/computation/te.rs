//! Computations in TVM tensor expressions, as auto_scheduler stores them: an array of tensors and the operations that
//! produce them.

use std::collections::HashMap;

use ahash::RandomState;

use super::canonical::{Stages, tensors_read};
use super::expression::Expression;
use super::node_access::{
    DATA_PARALLEL, REDUCED, axis_extent, dtype, integer_value, kind, unexpected_node,
};
use super::reader::{Axes, ExpressionReader, name_axes, producer};
use super::stage::{Reduction, Tensor, Tensors, format_stage};
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph, post_order};

/// Reads the stages of an array of tensors. The computed tensors are the outputs.
///
/// # Errors
/// Returns an error for unsupported graphs.
pub(super) fn read_stages(graph: &TvmGraph) -> Result<Stages, Error> {
    let root = graph.root()?;
    if !root.is_array() {
        return Err(unexpected_node(root, "an array of tensors"));
    }
    let mut reader = ExpressionReader::new(graph);
    let (mut tensors, mut outputs) = (Tensors::default(), Vec::new());
    for (index, node) in graph.nodes().iter().enumerate() {
        if matches!(node.type_key.as_str(), "PlaceholderOp" | "ComputeOp") {
            tensors.insert(index, operation_tensor(&mut reader, graph.node(index)?)?);
        }
    }
    for tensor in root.elements() {
        let operation = graph.node(producer(tensor)?)?;
        if kind(operation) != "PlaceholderOp" {
            outputs.push(operation.index);
        }
    }
    let mut texts: HashMap<usize, String, RandomState> = HashMap::default();
    let compute = |index| {
        let operation = graph.node(index)?;
        match kind(operation) {
            "PlaceholderOp" => return Ok(Vec::new()),
            "ComputeOp" => {}
            _ => return Err(unexpected_node(operation, "a supported operation")),
        }
        let text = operation_text(&mut reader, operation, &tensors)?;
        let inputs = tensors_read(&text);
        texts.insert(index, text);
        Ok(inputs)
    };
    let mut graph_budget = StepBudget::for_graph(graph);
    post_order(&outputs, compute, &mut graph_budget)?;
    Ok(Stages {
        outputs,
        texts,
        tensors,
    })
}

/// Returns the tensor that an operation produces.
fn operation_tensor<'a>(
    reader: &mut ExpressionReader<'a>,
    operation: NodeRef<'a>,
) -> Result<Tensor, Error> {
    if kind(operation) == "PlaceholderOp" {
        let (dtype, shape) = (dtype(operation)?, reader.tensor_sizes(operation, "shape")?);
        return Ok(Tensor { dtype, shape });
    }
    let body = operation.follow_list("body")?;
    let &[body] = body.as_slice() else {
        return Err(Error::wrong("an operation with several results"));
    };
    let shape = axis_extents(reader, &operation.follow_list("axis")?, DATA_PARALLEL)?;
    let shape = shape.into_iter().map(|(_, extent)| extent).collect();
    let dtype = dtype(body)?;
    Ok(Tensor { dtype, shape })
}

/// Returns the node indices and extents of axes, which must be of the `expected_kind`.
fn axis_extents<'a>(
    reader: &mut ExpressionReader<'a>,
    axes: &[NodeRef<'a>],
    expected_kind: i64,
) -> Result<Vec<(usize, i64)>, Error> {
    reader.budget.take(axes.len() as u64)?;
    let mut extents = Vec::with_capacity(axes.len());
    for axis in axes {
        if axis.integer_attribute("iter_type")? != expected_kind {
            return Err(unexpected_node(*axis, "an axis of the expected kind"));
        }
        extents.push((axis.follow_required("var")?.index, axis_extent(*axis)?));
    }
    Ok(extents)
}

/// Returns the text of the stage of an operation.
fn operation_text<'a>(
    reader: &mut ExpressionReader<'a>,
    operation: NodeRef<'a>,
    tensors: &Tensors,
) -> Result<String, Error> {
    let tensor = tensors.get(&operation.index);
    let tensor = tensor.ok_or_else(|| unexpected_node(operation, "a supported operation"))?;
    let mut spatial = Axes::default();
    let extents = axis_extents(reader, &operation.follow_list("axis")?, DATA_PARALLEL)?;
    name_axes(&mut spatial, 'i', extents)?;
    let body = operation.follow_list("body")?;
    let body = *body
        .first()
        .ok_or_else(|| unexpected_node(operation, "an operation with a result"))?;
    if kind(body) == "Reduce" {
        let (reduction, source) = read_reduction(reader, body, spatial, tensors)?;
        format_stage(tensor, Some(&reduction), &source)
    } else {
        let body = reader.read_expression(body, &spatial, tensors)?;
        format_stage(tensor, None, &body)
    }
}

/// Reads a reduction and the expression that it reduces.
fn read_reduction<'a>(
    reader: &mut ExpressionReader<'a>,
    reduction_node: NodeRef<'a>,
    spatial: Axes,
    tensors: &Tensors,
) -> Result<(Reduction, Expression), Error> {
    let combiner = reduction_node.follow_required("combiner")?;
    let single_element = |node: NodeRef<'a>, name: &str| match node.follow_list(name)?.as_slice() {
        [element] => Ok(*element),
        _ => Err(Error::wrong("a reduction of several values")),
    };
    let (left_index, right_index) = (
        single_element(combiner, "lhs")?.index,
        single_element(combiner, "rhs")?.index,
    );
    let result = single_element(combiner, "result")?;
    let reduction_kind = Reduction::kind(kind(result));
    let reduction_kind = reduction_kind.ok_or_else(|| unexpected_node(result, "a reduction"))?;
    let (a, b) = (
        result.follow_required("a")?.index,
        result.follow_required("b")?.index,
    );
    if left_index == right_index
        || ((a, b) != (left_index, right_index) && (a, b) != (right_index, left_index))
    {
        return Err(Error::wrong(
            "a reduction of other values than its two operands",
        ));
    }
    if reduction_node.integer_attribute("value_index")? != 0
        || integer_value(reduction_node.follow_required("condition")?)? != 1
    {
        return Err(Error::wrong("a conditional reduction"));
    }
    // The extent of an adaptive pool depends on axes, which may turn out to have extent 1.
    let mut reduced_extents = Vec::new();
    let reduced_axes = reduction_node.follow_list("axis")?;
    reader.budget.take(reduced_axes.len() as u64)?;
    for axis in reduced_axes {
        let range = axis.follow_required("dom")?;
        let extent = reader.read_expression(range.follow_required("extent")?, &spatial, tensors)?;
        let minimum = reader.read_expression(range.follow_required("min")?, &spatial, tensors)?;
        let (Some(extent), Some(0)) =
            (extent.value().filter(|&extent| extent > 0), minimum.value())
        else {
            return Err(Error::wrong(
                "a reduction over a range that is not constant",
            ));
        };
        if axis.integer_attribute("iter_type")? != REDUCED {
            return Err(unexpected_node(axis, "an axis of a reduction"));
        }
        reduced_extents.push((axis.follow_required("var")?.index, extent));
    }
    let extents = reduced_extents.iter().map(|&(_, extent)| extent).collect();
    let initial = match reduction_node.follow_list("init")?.as_slice() {
        [] => single_element(combiner, "identity_element")?,
        [initial] => *initial,
        _ => return Err(Error::wrong("a reduction of several values")),
    };
    let initial = reader.read_expression(initial, &spatial, tensors)?;
    let mut axes = spatial;
    name_axes(&mut axes, 'r', reduced_extents)?;
    let source =
        reader.read_expression(single_element(reduction_node, "source")?, &axes, tensors)?;
    let kind = reduction_kind;
    let reduction = Reduction {
        kind,
        extents,
        initial,
    };
    Ok((reduction, source))
}

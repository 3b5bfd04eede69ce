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
        let from = tensors_read(&text);
        texts.insert(index, text);
        Ok(from)
    };
    let mut between = StepBudget::for_graph(graph);
    post_order(&outputs, compute, &mut between)?;
    Ok(Stages {
        outputs,
        texts,
        tensors,
    })
}

/// Returns the tensor that an operation produces.
fn operation_tensor<'a>(
    reader: &mut ExpressionReader<'a>,
    at: NodeRef<'a>,
) -> Result<Tensor, Error> {
    if kind(at) == "PlaceholderOp" {
        let (dtype, shape) = (dtype(at)?, reader.tensor_sizes(at, "shape")?);
        return Ok(Tensor { dtype, shape });
    }
    let body = at.follow_list("body")?;
    let &[body] = body.as_slice() else {
        return Err(Error::wrong("an operation with several results"));
    };
    let shape = axis_extents(reader, &at.follow_list("axis")?, DATA_PARALLEL)?;
    let shape = shape.into_iter().map(|(_, extent)| extent).collect();
    let dtype = dtype(body)?;
    Ok(Tensor { dtype, shape })
}

/// Returns the node indices and extents of axes, which must be of the `wanted` kind.
fn axis_extents<'a>(
    reader: &mut ExpressionReader<'a>,
    axes: &[NodeRef<'a>],
    wanted: i64,
) -> Result<Vec<(usize, i64)>, Error> {
    reader.budget.take(axes.len() as u64)?;
    let mut extents = Vec::with_capacity(axes.len());
    for axis in axes {
        if axis.integer_attribute("iter_type")? != wanted {
            return Err(unexpected_node(*axis, "an axis of the expected kind"));
        }
        extents.push((axis.follow_required("var")?.index, axis_extent(*axis)?));
    }
    Ok(extents)
}

/// Returns the text of the stage of an operation.
fn operation_text<'a>(
    reader: &mut ExpressionReader<'a>,
    at: NodeRef<'a>,
    tensors: &Tensors,
) -> Result<String, Error> {
    let tensor = tensors.get(&at.index);
    let tensor = tensor.ok_or_else(|| unexpected_node(at, "a supported operation"))?;
    let mut spatial = Axes::default();
    let extents = axis_extents(reader, &at.follow_list("axis")?, DATA_PARALLEL)?;
    name_axes(&mut spatial, 'i', extents)?;
    let body = at.follow_list("body")?;
    let body = *body
        .first()
        .ok_or_else(|| unexpected_node(at, "an operation with a result"))?;
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
    at: NodeRef<'a>,
    spatial: Axes,
    tensors: &Tensors,
) -> Result<(Reduction, Expression), Error> {
    let combiner = at.follow_required("combiner")?;
    let one = |at: NodeRef<'a>, name: &str| match at.follow_list(name)?.as_slice() {
        [one] => Ok(*one),
        _ => Err(Error::wrong("a reduction of several values")),
    };
    let (left, right) = (one(combiner, "lhs")?.index, one(combiner, "rhs")?.index);
    let result = one(combiner, "result")?;
    let kind_of_reduction = Reduction::kind(kind(result));
    let kind_of_reduction =
        kind_of_reduction.ok_or_else(|| unexpected_node(result, "a reduction"))?;
    let (a, b) = (
        result.follow_required("a")?.index,
        result.follow_required("b")?.index,
    );
    if left == right || ((a, b) != (left, right) && (a, b) != (right, left)) {
        return Err(Error::wrong(
            "a reduction of other values than its two operands",
        ));
    }
    if at.integer_attribute("value_index")? != 0
        || integer_value(at.follow_required("condition")?)? != 1
    {
        return Err(Error::wrong("a conditional reduction"));
    }
    // The extent of an adaptive pool depends on axes, which may turn out to have extent 1.
    let mut inner = Vec::new();
    let over = at.follow_list("axis")?;
    reader.budget.take(over.len() as u64)?;
    for axis in over {
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
        inner.push((axis.follow_required("var")?.index, extent));
    }
    let extents = inner.iter().map(|&(_, extent)| extent).collect();
    let initial = match at.follow_list("init")?.as_slice() {
        [] => one(combiner, "identity_element")?,
        [initial] => *initial,
        _ => return Err(Error::wrong("a reduction of several values")),
    };
    let initial = reader.read_expression(initial, &spatial, tensors)?;
    let mut all = spatial;
    name_axes(&mut all, 'r', inner)?;
    let source = reader.read_expression(one(at, "source")?, &all, tensors)?;
    let kind = kind_of_reduction;
    let reduction = Reduction {
        kind,
        extents,
        initial,
    };
    Ok((reduction, source))
}

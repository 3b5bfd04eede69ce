//! Computations in TVM's tensor expressions, as auto_scheduler has them: an array of tensors, and operations
//! that give them.

use std::collections::HashMap;

use ahash::RandomState;

use super::canonical::{Stages, read_from};
use super::expression::Expression;
use super::reader::{Axes, Reader, name_axes, producer};
use super::spelling::{DATA_PARALLEL, REDUCED, dtype, iterated, kind, not_a, whole};
use super::stage::{Reduction, Tensor, Tensors, stage_text};
use crate::tvm_json::{At, Budget, Error, Graph, post_order};

/// The stages of an array of tensors: those that are computed are what comes out.
///
/// # Errors
/// Whatever is not understood.
pub(super) fn stages(graph: &Graph) -> Result<Stages, Error> {
    let root = graph.root()?;
    if !root.is_array() {
        return Err(not_a(root, "array of tensors"));
    }
    let mut reader = Reader::new(graph);
    let (mut tensors, mut outputs) = (Tensors::default(), Vec::new());
    for (index, node) in graph.nodes().iter().enumerate() {
        if matches!(node.type_key.as_str(), "PlaceholderOp" | "ComputeOp") {
            tensors.insert(index, tensor(&mut reader, graph.at(index)?)?);
        }
    }
    for tensor in root.elements() {
        let operation = graph.at(producer(tensor)?)?;
        if kind(operation) != "PlaceholderOp" {
            outputs.push(operation.index);
        }
    }
    let mut texts: HashMap<usize, String, RandomState> = HashMap::default();
    let compute = |index| {
        let operation = graph.at(index)?;
        match kind(operation) {
            "PlaceholderOp" => return Ok(Vec::new()),
            "ComputeOp" => {}
            _ => return Err(not_a(operation, "operation that is understood")),
        }
        let text = operation_text(&mut reader, operation, &tensors)?;
        let from = read_from(&text);
        texts.insert(index, text);
        Ok(from)
    };
    let mut between = Budget::of(graph);
    post_order(&outputs, compute, &mut between)?;
    Ok(Stages {
        outputs,
        texts,
        tensors,
    })
}

/// What an operation gives.
fn tensor<'a>(reader: &mut Reader<'a>, at: At<'a>) -> Result<Tensor, Error> {
    if kind(at) == "PlaceholderOp" {
        let (dtype, shape) = (dtype(at)?, reader.sizes(at, "shape")?);
        return Ok(Tensor { dtype, shape });
    }
    let body = at.list("body")?;
    let &[body] = body.as_slice() else {
        return Err(Error::wrong("an operation of several results"));
    };
    let shape = extents(reader, &at.list("axis")?, DATA_PARALLEL)?;
    let shape = shape.into_iter().map(|(_, extent)| extent).collect();
    let dtype = dtype(body)?;
    Ok(Tensor { dtype, shape })
}

/// Places of the variables of axes of this kind, and how far they go.
fn extents<'a>(
    reader: &mut Reader<'a>,
    axes: &[At<'a>],
    wanted: i64,
) -> Result<Vec<(usize, i64)>, Error> {
    reader.budget.take(axes.len() as u64)?;
    let mut extents = Vec::with_capacity(axes.len());
    for axis in axes {
        if axis.whole("iter_type")? != wanted {
            return Err(not_a(*axis, "axis of that kind"));
        }
        extents.push((axis.follow_to("var")?.index, iterated(*axis)?));
    }
    Ok(extents)
}

/// The text of what an operation computes.
fn operation_text<'a>(
    reader: &mut Reader<'a>,
    at: At<'a>,
    tensors: &Tensors,
) -> Result<String, Error> {
    let tensor = tensors.get(&at.index);
    let tensor = tensor.ok_or_else(|| not_a(at, "operation that is understood"))?;
    let mut spatial = Axes::default();
    let extents = extents(reader, &at.list("axis")?, DATA_PARALLEL)?;
    name_axes(&mut spatial, 'i', extents)?;
    let body = at.list("body")?;
    let body = *body
        .first()
        .ok_or_else(|| not_a(at, "operation of a result"))?;
    if kind(body) == "Reduce" {
        let (reduction, source) = reduced(reader, body, spatial, tensors)?;
        stage_text(tensor, Some(&reduction), &source)
    } else {
        let body = reader.expression(body, &spatial, tensors)?;
        stage_text(tensor, None, &body)
    }
}

/// A reduction, and what it combines.
fn reduced<'a>(
    reader: &mut Reader<'a>,
    at: At<'a>,
    spatial: Axes,
    tensors: &Tensors,
) -> Result<(Reduction, Expression), Error> {
    let combiner = at.follow_to("combiner")?;
    let one = |at: At<'a>, name: &str| match at.list(name)?.as_slice() {
        [one] => Ok(*one),
        _ => Err(Error::wrong("a reduction of several values")),
    };
    let (left, right) = (one(combiner, "lhs")?.index, one(combiner, "rhs")?.index);
    let result = one(combiner, "result")?;
    let kind_of_reduction = Reduction::kind(kind(result));
    let kind_of_reduction = kind_of_reduction.ok_or_else(|| not_a(result, "reduction"))?;
    let (a, b) = (result.follow_to("a")?.index, result.follow_to("b")?.index);
    if left == right || ((a, b) != (left, right) && (a, b) != (right, left)) {
        return Err(Error::wrong(
            "a reduction of something else than two values",
        ));
    }
    if at.whole("value_index")? != 0 || whole(at.follow_to("condition")?)? != 1 {
        return Err(Error::wrong("a reduction on a condition"));
    }
    // The extent of an adaptive pool depends on axes, of which it may turn out that they have one element.
    let mut inner = Vec::new();
    let over = at.list("axis")?;
    reader.budget.take(over.len() as u64)?;
    for axis in over {
        let range = axis.follow_to("dom")?;
        let extent = reader.expression(range.follow_to("extent")?, &spatial, tensors)?;
        let minimum = reader.expression(range.follow_to("min")?, &spatial, tensors)?;
        let (Some(extent), Some(0)) =
            (extent.value().filter(|&extent| extent > 0), minimum.value())
        else {
            return Err(Error::wrong("a reduction of who knows how many values"));
        };
        if axis.whole("iter_type")? != REDUCED {
            return Err(not_a(axis, "axis of a reduction"));
        }
        inner.push((axis.follow_to("var")?.index, extent));
    }
    let extents = inner.iter().map(|&(_, extent)| extent).collect();
    let initial = match at.list("init")?.as_slice() {
        [] => one(combiner, "identity_element")?,
        [initial] => *initial,
        _ => return Err(Error::wrong("a reduction of several values")),
    };
    let initial = reader.expression(initial, &spatial, tensors)?;
    let mut all = spatial;
    name_axes(&mut all, 'r', inner)?;
    let source = reader.expression(one(at, "source")?, &all, tensors)?;
    let kind = kind_of_reduction;
    let reduction = Reduction {
        kind,
        extents,
        initial,
    };
    Ok((reduction, source))
}

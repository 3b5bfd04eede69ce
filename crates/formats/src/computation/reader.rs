//! Reads the expressions of a graph.

use std::collections::HashMap;

use ahash::RandomState;

use super::expression::{Expression, Form};
use super::index::Linear;
use super::operators::{arithmetic, call, cast, choice, comparison, logic, not};
use super::spelling::{dtype, kind, not_a, real, whole, without};
use super::stage::Tensors;
use crate::tvm_json::{At, Budget, Error, Graph, post_order};

/// How many bytes all texts of a computation that are made on the way may have: genuine ones have less than a
/// tenth of it.
const TEXT_BYTES: usize = 16 << 20;

/// What a place is the axis of.
pub(super) type Axes = HashMap<usize, Linear, RandomState>;

/// Puts in axes of these places and extents, called `i0`, `i1`, ... by `letter`; those of one element are 0.
///
/// # Errors
/// One is there already.
pub(super) fn name_axes(
    axes: &mut Axes,
    letter: char,
    extents: impl IntoIterator<Item = (usize, i64)>,
) -> Result<(), Error> {
    let mut count = 0;
    for (place, extent) in extents {
        let axis = Linear::named(format!("{letter}{count}"), (0, extent - 1));
        if axes.insert(place, axis).is_some() {
            return Err(Error::wrong("an axis that goes over two things"));
        }
        count += i32::from(extent > 1);
    }
    Ok(())
}

/// Reads expressions of a graph.
pub(super) struct Reader<'a> {
    pub(super) graph: &'a Graph,
    /// What may be taken of it.
    pub(super) budget: Budget,
    text_bytes: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let (budget, text_bytes) = (Budget::of(graph), TEXT_BYTES);
        Self {
            graph,
            budget,
            text_bytes,
        }
    }

    /// Takes down that so many bytes of text are made.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.text_bytes.checked_sub(bytes);
        self.text_bytes = left.unwrap_or(0);
        left.map(drop)
            .ok_or_else(|| Error::wrong("more text than a computation has"))
    }

    /// The constant sizes of a tensor that has elements.
    pub(super) fn sizes(&mut self, at: At<'a>, name: &str) -> Result<Vec<i64>, Error> {
        let sizes = at.list(name)?;
        self.budget.take(sizes.len() as u64)?;
        let sizes: Vec<i64> = sizes.into_iter().map(whole).collect::<Result<_, _>>()?;
        if sizes.iter().any(|&size| size < 1) {
            return Err(not_a(at, "tensor of elements"));
        }
        Ok(sizes)
    }

    /// What an expression is over these axes, which reads from these tensors.
    ///
    /// # Errors
    /// Whatever is not understood.
    pub(super) fn expression(
        &mut self,
        at: At<'a>,
        axes: &Axes,
        tensors: &Tensors,
    ) -> Result<Expression, Error> {
        let graph = self.graph;
        let children = |index| {
            let operands = operands(graph.at(index)?)?;
            Ok(operands.into_iter().map(|at| at.index).collect())
        };
        let order = post_order(&[at.index], children, &mut self.budget)?;
        let mut known: HashMap<usize, Expression, RandomState> = HashMap::default();
        for index in order {
            let node = graph.at(index)?;
            let operands = operands(node)?;
            let operands = operands.iter().map(|at| known.get(&at.index));
            let operands: Option<Vec<&Expression>> = operands.collect();
            let operands = operands.ok_or_else(|| not_a(node, "expression"))?;
            let bytes = operands.iter().map(|operand| operand.size() + 64);
            self.take(bytes.sum::<usize>() + 64)?;
            let expression = expression(node, &operands, axes, tensors)?;
            known.insert(index, expression);
        }
        known
            .remove(&at.index)
            .ok_or_else(|| not_a(at, "expression"))
    }
}

/// What an expression consists of; nothing where it is not understood.
fn operands(at: At<'_>) -> Result<Vec<At<'_>>, Error> {
    let all = |names: &[&str]| names.iter().map(|name| at.follow_to(name)).collect();
    match kind(at) {
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "FloorDiv" | "FloorMod" | "Min" | "Max" | "EQ"
        | "NE" | "LT" | "LE" | "GT" | "GE" | "And" | "Or" => all(&["a", "b"]),
        "Not" => all(&["a"]),
        "Cast" => all(&["value"]),
        "Select" => all(&["condition", "true_value", "false_value"]),
        "Call" => at.list("args"),
        "ProducerLoad" | "BufferLoad" | "TensorLoad" => at.list("indices"),
        _ => Ok(Vec::new()),
    }
}

/// What an expression is, whose operands are known.
fn expression(
    at: At<'_>,
    operands: &[&Expression],
    axes: &Axes,
    tensors: &Tensors,
) -> Result<Expression, Error> {
    let name = kind(at);
    match (name, operands) {
        ("IntImm", []) => Expression::integer(dtype(at)?, whole(at)?),
        ("FloatImm", []) => Expression::float(dtype(at)?, real(at)?),
        ("Var", []) => {
            let axis = axes.get(&at.index).cloned();
            let axis = axis.ok_or_else(|| not_a(at, "axis of its stage"))?;
            Expression::index(dtype(at)?, Some(axis))
        }
        (
            "Add" | "Sub" | "Mul" | "Div" | "Mod" | "FloorDiv" | "FloorMod" | "Min" | "Max",
            [a, b],
        ) => arithmetic(name, dtype(at)?, a, b),
        ("EQ" | "NE" | "LT" | "LE" | "GT" | "GE", [a, b]) => comparison(name, a, b),
        ("And" | "Or", [a, b]) => logic(name, a, b),
        ("Not", [a]) => not(a),
        ("Cast", [value]) => cast(dtype(at)?, value),
        ("Select", &[condition, yes, no]) => choice("select", dtype(at)?, [condition, yes, no]),
        ("Call", arguments) => {
            let function = at.follow_to("op")?;
            let function = function.text().ok_or_else(|| not_a(function, "function"))?;
            call(function, dtype(at)?, arguments)
        }
        ("ProducerLoad" | "BufferLoad" | "TensorLoad", indices) => load(at, indices, tensors),
        _ => Err(not_a(at, "expression that is understood")),
    }
}

/// The place of the tensor that an expression reads from: of the operation that gives it, or of its buffer.
///
/// # Errors
/// Not the first of several that an operation gives.
pub(super) fn source(load: At<'_>) -> Result<usize, Error> {
    match kind(load) {
        "ProducerLoad" => producer(load.follow_to("producer")?),
        "BufferLoad" => Ok(load.follow_to("buffer")?.index),
        _ => Ok(load.follow_to("source")?.index),
    }
}

/// The place of the operation that gives a tensor.
///
/// # Errors
/// Not the first of several that it gives.
pub(super) fn producer(tensor: At<'_>) -> Result<usize, Error> {
    if tensor.whole("value_index")? == 0 {
        Ok(tensor.follow_to("op")?.index)
    } else {
        Err(Error::wrong("an operation of several results"))
    }
}

/// An element of a tensor.
fn load(at: At<'_>, indices: &[&Expression], tensors: &Tensors) -> Result<Expression, Error> {
    without(at, &["predicate"])?;
    let place = source(at)?;
    let tensor = tensors.get(&place);
    let tensor = tensor.ok_or_else(|| Error::wrong("an element of a tensor before it is there"))?;
    let dtype = dtype(at)?;
    if dtype != tensor.dtype || indices.len() != tensor.shape.len() {
        return Err(Error::wrong("an element of another tensor than there is"));
    }
    let mut texts = Vec::with_capacity(indices.len());
    for (index, size) in indices.iter().zip(&tensor.shape) {
        let index = index.as_index();
        let index = index.ok_or_else(|| Error::wrong("an index that is computed from tensors"))?;
        if *size > 1 {
            texts.push(index.text());
        } else if !index
            .range()
            .is_some_and(|(least, greatest)| least <= 0 && 0 <= greatest)
        {
            return Err(Error::wrong("an element beyond its tensor"));
        }
    }
    let form = Form::Other(format!("@{place}[{}]", texts.join(", ")));
    Ok(Expression { dtype, form })
}

//! Number of arithmetic operations (FLOP) of a computation, counted like the estimator of TVM's auto_scheduler.
//!
//! Follows `FlopEstimator` in `compute_dag.cc` of TVM 0.8. The count of an operation is its number of elements times
//! the count of its expressions. A binary expression counts 1 if its type is of the kind of the result type, so index
//! arithmetic is free in floating-point computations. A reduction counts its body once per step, a selection counts the
//! more expensive side, and a call counts its arguments. The attribute `FLOP` of an operation overrides its count. If
//! any part is unknown, so is the result.

use std::collections::HashMap;

use ahash::RandomState;

use super::expressions::{constant, extents, is_binary};
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph, post_order};

/// Counts of expressions by node index.
type Counts = HashMap<usize, f64, RandomState>;

/// Returns the total count of the operations at these node indices; `None` if TVM gives up.
pub(super) fn flop_count(
    graph: &TvmGraph,
    operations: &[usize],
    budget: &mut StepBudget,
) -> Result<Option<f64>, Error> {
    let mut sum = 0.0;
    for &operation in operations {
        let node = graph.node(operation)?;
        let count = match node.type_key() {
            "PlaceholderOp" => Some(0.0),
            "ComputeOp" => operation_flops(graph, node, budget)?,
            _ => None,
        };
        let Some(count) = count else {
            return Ok(None);
        };
        sum += count;
    }
    Ok(Some(sum).filter(|sum| sum.is_finite()))
}

/// Returns the count of one operation.
fn operation_flops(
    graph: &TvmGraph,
    node: NodeRef<'_>,
    budget: &mut StepBudget,
) -> Result<Option<f64>, Error> {
    if let Some(attributes) = node.follow("attrs")? {
        let attributes = attributes.entries();
        budget.take(attributes.len() as u64)?;
        let attribute = attributes.into_iter().find(|(name, _)| *name == "FLOP");
        if let Some((_, attribute)) = attribute {
            return Ok(constant(attribute)?.map(to_double));
        }
    }
    let axes = node.follow_list("axis")?;
    budget.take(axes.len() as u64)?;
    let Some(elements) = product(&extents(&axes)?) else {
        return Ok(None);
    };
    let body = node.follow_list("body")?;
    let kind = match body.first() {
        Some(first) => dtype_kind(first.text_attribute("dtype")?),
        None => "",
    };
    let body: Vec<usize> = body.into_iter().map(|node| node.index).collect();
    // Like the estimator, this skips indices and the conditions of reductions.
    let counted_indexes = |index| {
        let counted_indexes = counted_operands(graph.node(index)?)?;
        Ok(counted_indexes.into_iter().map(|node| node.index).collect())
    };
    let order = post_order(&body, counted_indexes, budget)?;
    let mut counts = Counts::default();
    for index in order {
        let Some(count) = expression_flops(graph.node(index)?, kind, &counts)? else {
            return Ok(None);
        };
        counts.insert(index, count);
    }
    let counts = body.iter().map(|index| counts.get(index).copied());
    let count_per_element: Option<f64> = counts.sum();
    Ok(count_per_element.map(|count_per_element| elements * count_per_element))
}

/// Returns the operands that are counted.
fn counted_operands<'a>(node: NodeRef<'a>) -> Result<Vec<NodeRef<'a>>, Error> {
    match node.type_key() {
        "tir.Reduce" => {
            let mut counted = node.follow_required("combiner")?.follow_list("result")?;
            let sources = node.follow_list("source")?;
            // One source per result.
            if sources.len() < counted.len() {
                return Err(Error::wrong("a reduction with fewer sources than results"));
            }
            let sources = sources.into_iter().take(counted.len());
            counted.extend(sources);
            Ok(counted)
        }
        "tir.ProducerLoad" | "tir.Let" | "tir.Ramp" | "tir.Broadcast" => Ok(Vec::new()),
        _ => super::expressions::operands(node),
    }
}

/// Returns the count of an expression from the counts of its operands; `None` if TVM gives up.
fn expression_flops(node: NodeRef<'_>, kind: &str, counts: &Counts) -> Result<Option<f64>, Error> {
    let count = |node: &NodeRef<'_>| counts.get(&node.index).copied();
    let operands = counted_operands(node)?;
    let sum = operands.iter().map(count).sum::<Option<f64>>();
    Ok(match node.type_key() {
        "FloatImm" | "IntImm" | "tir.Var" | "tir.SizeVar" | "tir.ProducerLoad" => Some(0.0),
        "tir.Cast" | "tir.Call" => sum,
        "tir.Select" => {
            let [condition, if_true, if_false] = operands.as_slice() else {
                return Ok(None);
            };
            let max_side = count(if_true)
                .zip(count(if_false))
                .map(|(if_true, if_false)| if_true.max(if_false));
            count(condition).zip(max_side).map(|(a, b)| a + b)
        }
        "tir.Reduce" => {
            let axes = node.follow_list("axis")?;
            let steps = product(&extents(&axes)?);
            steps.zip(sum).map(|(steps, step_flops)| steps * step_flops)
        }
        name if name == "tir.Not" || is_binary(name) => {
            let is_counted = dtype_kind(node.text_attribute("dtype")?) == kind;
            sum.map(|sum| sum + f64::from(u8::from(is_counted)))
        }
        _ => None,
    })
}

/// Returns the product of numbers; `None` if one is unknown.
fn product(numbers: &[Option<i64>]) -> Option<f64> {
    let values: Option<Vec<i64>> = numbers.iter().copied().collect();
    Some(values?.into_iter().map(to_double).product())
}

/// Returns the kind of a data type without its size: `float` for `float32`. Booleans are unsigned integers.
fn dtype_kind(dtype: &str) -> &str {
    let end = dtype.find(|c: char| !c.is_ascii_alphabetic());
    match dtype.get(..end.unwrap_or(dtype.len())) {
        Some("bool") => "uint",
        Some(kind) => kind,
        None => dtype,
    }
}

/// Converts an integer to a double, in which TVM counts.
#[expect(clippy::cast_precision_loss, reason = "TVM counts in doubles, too")]
fn to_double(number: i64) -> f64 {
    number as f64
}

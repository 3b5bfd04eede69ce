//! How many operations on numbers a computation takes, as the estimator of TVM's auto_scheduler counts them.
//!
//! That is `FlopEstimator` in `compute_dag.cc` of TVM 0.8: for each operation the number of its elements, times
//! what its expressions count for. A binary expression counts 1 where its type is of the kind of the
//! result's type (so that indexes count for nothing where floats are computed), a reduction counts what it
//! combines once for each step, a choice counts the dearer side, calls count their arguments. An operation
//! with the attribute `FLOP` counts that. Where one thing is not known, nothing is.

use std::collections::HashMap;

use ahash::RandomState;

use super::expressions::{constant, extents, is_binary};
use crate::tvm_json::{At, Budget, Error, Graph, post_order};

/// What expressions count for, by their places.
type Counts = HashMap<usize, f64, RandomState>;

/// What the operations at these places count for together; `None` where TVM gives up.
pub(super) fn flop_count(
    graph: &Graph,
    operations: &[usize],
    budget: &mut Budget,
) -> Result<Option<f64>, Error> {
    let mut sum = 0.0;
    for &operation in operations {
        let at = graph.at(operation)?;
        let count = match at.type_key() {
            "PlaceholderOp" => Some(0.0),
            "ComputeOp" => of_operation(graph, at, budget)?,
            _ => None,
        };
        let Some(count) = count else {
            return Ok(None);
        };
        sum += count;
    }
    Ok(Some(sum).filter(|sum| sum.is_finite()))
}

/// What one operation counts for.
fn of_operation(graph: &Graph, at: At<'_>, budget: &mut Budget) -> Result<Option<f64>, Error> {
    if let Some(attributes) = at.follow("attrs")? {
        let attributes = attributes.entries();
        budget.take(attributes.len() as u64)?;
        let stated = attributes.into_iter().find(|(name, _)| *name == "FLOP");
        if let Some((_, stated)) = stated {
            return Ok(constant(stated)?.map(float));
        }
    }
    let axes = at.list("axis")?;
    budget.take(axes.len() as u64)?;
    let Some(elements) = product(&extents(&axes)?) else {
        return Ok(None);
    };
    let body = at.list("body")?;
    let kind = match body.first() {
        Some(first) => kind_of(first.word("dtype")?),
        None => "",
    };
    let body: Vec<usize> = body.into_iter().map(|at| at.index).collect();
    // Like the estimator, and unlike a walk over all, this leaves out indexes and conditions of reductions.
    let counted = |index| {
        let counted = counted(graph.at(index)?)?;
        Ok(counted.into_iter().map(|at| at.index).collect())
    };
    let order = post_order(&body, counted, budget)?;
    let mut counts = Counts::default();
    for index in order {
        let Some(count) = of_expression(graph.at(index)?, kind, &counts)? else {
            return Ok(None);
        };
        counts.insert(index, count);
    }
    let counts = body.iter().map(|index| counts.get(index).copied());
    let each: Option<f64> = counts.sum();
    Ok(each.map(|each| elements * each))
}

/// The operands that count.
fn counted<'a>(at: At<'a>) -> Result<Vec<At<'a>>, Error> {
    match at.type_key() {
        "tir.Reduce" => {
            let mut counted = at.follow_to("combiner")?.list("result")?;
            let sources = at.list("source")?;
            // One for each result.
            if sources.len() < counted.len() {
                return Err(Error::wrong("a reduction of fewer values than it gives"));
            }
            let sources = sources.into_iter().take(counted.len());
            counted.extend(sources);
            Ok(counted)
        }
        "tir.ProducerLoad" | "tir.Let" | "tir.Ramp" | "tir.Broadcast" => Ok(Vec::new()),
        _ => super::expressions::operands(at),
    }
}

/// What an expression counts for, whose operands are known; `None` where TVM gives up.
fn of_expression(at: At<'_>, kind: &str, counts: &Counts) -> Result<Option<f64>, Error> {
    let count = |at: &At<'_>| counts.get(&at.index).copied();
    let operands = counted(at)?;
    let sum = operands.iter().map(count).sum::<Option<f64>>();
    Ok(match at.type_key() {
        "FloatImm" | "IntImm" | "tir.Var" | "tir.SizeVar" | "tir.ProducerLoad" => Some(0.0),
        "tir.Cast" | "tir.Call" => sum,
        "tir.Select" => {
            let [condition, yes, no] = operands.as_slice() else {
                return Ok(None);
            };
            let dearer = count(yes).zip(count(no)).map(|(yes, no)| yes.max(no));
            count(condition).zip(dearer).map(|(a, b)| a + b)
        }
        "tir.Reduce" => {
            let axes = at.list("axis")?;
            let steps = product(&extents(&axes)?);
            steps.zip(sum).map(|(steps, each)| steps * each)
        }
        name if name == "tir.Not" || is_binary(name) => {
            let own = kind_of(at.word("dtype")?) == kind;
            sum.map(|sum| sum + f64::from(u8::from(own)))
        }
        _ => None,
    })
}

/// All of some numbers multiplied, where they are known.
fn product(numbers: &[Option<i64>]) -> Option<f64> {
    let known: Option<Vec<i64>> = numbers.iter().copied().collect();
    Some(known?.into_iter().map(float).product())
}

/// The kind of a type of numbers, whatever their size: `float` of `float32`. Truths are unsigned numbers.
fn kind_of(dtype: &str) -> &str {
    let end = dtype.find(|c: char| !c.is_ascii_alphabetic());
    match dtype.get(..end.unwrap_or(dtype.len())) {
        Some("bool") => "uint",
        Some(kind) => kind,
        None => dtype,
    }
}

/// A whole number as TVM counts, in doubles.
#[expect(clippy::cast_precision_loss, reason = "TVM counts in doubles, too")]
fn float(number: i64) -> f64 {
    number as f64
}

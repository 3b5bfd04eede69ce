//! A stage: one tensor, and how each element of it is computed from others.

use std::collections::HashMap;

use ahash::RandomState;

use super::expression::Expression;
use crate::tvm_json::Error;

/// What a place is the tensor of.
pub(super) type Tensors = HashMap<usize, Tensor, RandomState>;

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    /// The type of its numbers.
    pub(super) dtype: &'static str,
    /// Its sizes, with those that are 1.
    pub(super) shape: Vec<i64>,
}

impl Tensor {
    /// Its type and those of its sizes that are more than 1: `float32[128, 768]`.
    pub(super) fn text(&self) -> String {
        format!("{}[{}]", self.dtype, sizes(&self.shape))
    }
}

/// Sizes that are more than 1.
fn sizes(sizes: &[i64]) -> String {
    let more = sizes.iter().filter(|&&size| size > 1);
    let more: Vec<String> = more.map(ToString::to_string).collect();
    more.join(", ")
}

/// How the elements that a stage reads become one.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    /// `sum`, `product`, `max` or `min`.
    pub(super) kind: &'static str,
    /// How far its axes go.
    pub(super) extents: Vec<i64>,
    /// What it begins with.
    pub(super) initial: Expression,
}

impl Reduction {
    /// The kind of reduction that combines by this kind of expression.
    pub(super) fn kind(combined: &str) -> Option<&'static str> {
        match combined {
            "Add" => Some("sum"),
            "Mul" => Some("product"),
            "Max" => Some("max"),
            "Min" => Some("min"),
            _ => None,
        }
    }
}

/// The text of a stage, in which tensors are called by their places: `@17`.
pub(super) fn stage_text(
    tensor: &Tensor,
    reduction: Option<&Reduction>,
    body: &Expression,
) -> Result<String, Error> {
    let reduced = match reduction {
        None => String::new(),
        Some(reduction) if reduction.initial.dtype == tensor.dtype => {
            let Reduction {
                kind,
                extents,
                initial,
            } = reduction;
            let (extents, initial) = (sizes(extents), initial.text());
            format!("{kind} over [{extents}] from {initial} of ")
        }
        Some(_) => return Err(Error::wrong("a reduction from another type")),
    };
    if body.dtype != tensor.dtype {
        return Err(Error::wrong("a tensor of another type than its elements"));
    }
    Ok(format!("{} = {reduced}{}", tensor.text(), body.text()))
}

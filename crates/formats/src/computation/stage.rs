//! Stages: one tensor and how each of its elements is computed.

use std::collections::HashMap;

use ahash::RandomState;

use super::expression::Expression;
use crate::tvm_json::Error;

/// Tensors by node index.
pub(super) type Tensors = HashMap<usize, Tensor, RandomState>;

/// Tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    /// Data type of the elements.
    pub(super) dtype: &'static str,
    /// Sizes, including those that are 1.
    pub(super) shape: Vec<i64>,
}

impl Tensor {
    /// Returns the data type and the sizes greater than 1: `float32[128, 768]`.
    pub(super) fn text(&self) -> String {
        format!("{}[{}]", self.dtype, format_sizes(&self.shape))
    }
}

/// Formats the sizes that are greater than 1.
fn format_sizes(sizes: &[i64]) -> String {
    let larger = sizes.iter().filter(|&&size| size > 1);
    let texts: Vec<String> = larger.map(ToString::to_string).collect();
    texts.join(", ")
}

/// Reduction of the elements that a stage reads.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    /// `sum`, `product`, `max` or `min`.
    pub(super) kind: &'static str,
    /// Extents of the reduced axes.
    pub(super) extents: Vec<i64>,
    /// Initial value.
    pub(super) initial: Expression,
}

impl Reduction {
    /// Returns the kind of reduction for the type name of the combining expression.
    pub(super) fn kind(operator: &str) -> Option<&'static str> {
        match operator {
            "Add" => Some("sum"),
            "Mul" => Some("product"),
            "Max" => Some("max"),
            "Min" => Some("min"),
            _ => None,
        }
    }
}

/// Returns the text of a stage. Tensors are named by their node indices: `@17`.
pub(super) fn format_stage(
    tensor: &Tensor,
    reduction: Option<&Reduction>,
    body: &Expression,
) -> Result<String, Error> {
    let prefix = match reduction {
        None => String::new(),
        Some(reduction) if reduction.initial.dtype == tensor.dtype => {
            let Reduction {
                kind,
                extents,
                initial,
            } = reduction;
            let (extents, initial) = (format_sizes(extents), initial.text());
            format!("{kind} over [{extents}] from {initial} of ")
        }
        Some(_) => return Err(Error::wrong("a reduction from another type")),
    };
    if body.dtype != tensor.dtype {
        return Err(Error::wrong("a tensor of another type than its elements"));
    }
    Ok(format!("{} = {prefix}{}", tensor.text(), body.text()))
}

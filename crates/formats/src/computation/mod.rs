//! What a graph of TVM computes, in a form that is the same for the same computation, whichever tool wrote it.
//!
//! ```text
//! in0: float32[64, 128]
//! in1: float32[32, 128]
//! s0: float32[64, 32] = sum over [128] from 0.0:float32 of mul:float32(in0[i0, r0], in1[i1, r0])
//! s1: float32[64, 32] = max:float32(s0[i0, i1], 0.0:float32)
//! out: s1
//! ```
//!
//! Two graphs with one text compute the same numbers from the same numbers by the same operations. Of two with
//! different texts nobody knows: what could only be guessed at is not made the same, and what is not understood
//! at all has no text. Read are tensor expressions of auto_scheduler ([`of_tensors`]), and modules of TIR that were
//! not scheduled yet as MetaSchedule keeps them, in both spellings ([`of_module`]).
//!
//! What is the same here:
//! - whatever is only a name, an attribute, an annotation: tags, layouts that are free, rules for schedules;
//! - parameters in another order: inputs go by where they are read first, stages by what they are read by;
//! - dimensions of one element, in tensors, axes and reductions: elements and their order are those without them;
//! - indexes that are the same sums of multiples, in 32 or 64 bits, as long as they fit; conditions on them; what
//!   of them is constant, because of how far axes go: `floordiv(i, 32)` of 32 elements, padding by 0;
//! - constants that are the same in their type, and casts to the type that a number has.
//!
//! What is not: operands of operations on tensors' elements in another order, other stages between the same
//! ends, reductions over the same axes in another order, another layout.
//!
//! ```text
//! spelling ───────────────────────────────────────┐
//! index ─▶ condition ─▶ expression ─┬─▶ operators ─┴─▶ reader ─┬─▶ te ─────────┬─▶ here
//!                                   └─▶ stage ─▶ canonical ────┴─▶ block ─▶ tir ┘
//! ```

mod block;
mod canonical;
mod condition;
mod expression;
mod index;
mod operators;
mod reader;
mod spelling;
mod stage;
mod te;
#[cfg(test)]
mod tests;
mod tir;

use tsql_codecs::identity::computation_hash;

use crate::tvm_json::{Budget, Error, Graph};

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    /// Its canonical form, as lines of text.
    pub text: String,
}

impl Computation {
    /// XXH3-128 of the form, as 32 hexadecimal digits.
    pub fn hash(&self) -> String {
        computation_hash(&self.text)
    }
}

/// Why a graph has no form: it is damaged, or has something in it that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no canonical form: {0}")]
pub struct NoForm(String);

/// What an array of tensors of TVM's `te` computes, and all that they come from: those of them that are computed.
///
/// # Errors
/// Whatever is not understood: operations of other types or of several results, sizes that are not constant,
/// functions that are not known to only compute.
pub fn of_tensors(graph: &Graph) -> Result<Computation, NoForm> {
    formed(graph, te::stages(graph))
}

/// What the only function of a module of TIR computes: those of its parameters that it writes.
///
/// # Errors
/// Whatever is not understood: several functions, programs that were scheduled, blocks that are more than a
/// statement over plain loops, sizes that are not constant.
pub fn of_module(graph: &Graph) -> Result<Computation, NoForm> {
    formed(graph, tir::stages(graph))
}

/// The form of stages.
fn formed(graph: &Graph, stages: Result<canonical::Stages, Error>) -> Result<Computation, NoForm> {
    let text = stages.and_then(|stages| stages.text(&mut Budget::of(graph)));
    let text = text.map_err(|error| NoForm(error.to_string()))?;
    Ok(Computation { text })
}

//! Canonical form of the computation of a TVM graph. It is independent of the tool that wrote the graph.
//!
//! ```text
//! in0: float32[64, 128]
//! in1: float32[32, 128]
//! s0: float32[64, 32] = sum over [128] from 0.0:float32 of mul:float32(in0[i0, r0], in1[i1, r0])
//! s1: float32[64, 32] = max:float32(s0[i0, i1], 0.0:float32)
//! out: s1
//! ```
//!
//! Two graphs with the same text compute the same values from the same inputs by the same operations. Graphs with
//! different texts may or may not be equivalent: equivalences that cannot be proven are not assumed, and unsupported
//! graphs have no text. Supported inputs are tensor expressions of auto_scheduler ([`computation_of_tensors`]) and
//! unscheduled TIR modules as MetaSchedule stores them, in both spellings ([`computation_of_module`]).
//!
//! Normalized, so that it does not change the text:
//! - names, attributes and annotations: tags, free layouts, schedule rules;
//! - the order of parameters: inputs are numbered by first use, stages by their readers;
//! - dimensions of extent 1 in tensors, axes and reductions;
//! - indices that are the same linear expression, in 32 or 64 bits, if they fit; conditions on them; whatever is
//!   constant because of the extents of the axes, such as `floordiv(i, 32)` of 32 elements or padding by 0;
//! - constants that are equal in their type, and casts to the type that a value already has.
//!
//! Not normalized: the operand order of operations on tensor elements, a different split into stages, the order of
//! reductions over the same axes, another layout.
//!
//! ```text
//! node_access ────────────────────────────────────┐
//! index ─▶ condition ─▶ expression ─┬─▶ operators ─┴─▶ reader ─┬─▶ te ─────────┬─▶ here
//!                                   └─▶ stage ─▶ canonical ────┴─▶ block ─▶ tir ┘
//! ```

mod block;
mod canonical;
mod condition;
mod expression;
mod index;
mod node_access;
mod operators;
mod reader;
mod stage;
mod te;
#[cfg(test)]
mod tests;
mod tir;

use tsql_codecs::identity::computation_hash;

use crate::tvm_json::{Error, StepBudget, TvmGraph};

/// Computation in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    /// Canonical form, as lines of text.
    pub text: String,
}

impl Computation {
    /// XXH3-128 of the canonical form, as 32 hexadecimal digits.
    pub fn hash(&self) -> String {
        computation_hash(&self.text)
    }
}

/// Reason why a graph has no canonical form: it is damaged or unsupported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no canonical form: {0}")]
pub struct NoCanonicalForm(String);

/// Returns the computation of an array of TVM `te` tensors, including everything that they depend on.
///
/// # Errors
/// Returns an error for unsupported graphs: other types of operations, operations with several results, non-constant
/// sizes, functions that are not known to be pure.
pub fn computation_of_tensors(graph: &TvmGraph) -> Result<Computation, NoCanonicalForm> {
    canonical_form(graph, te::read_stages(graph))
}

/// Returns the computation of the only function of a TIR module. Its outputs are the parameters that it writes.
///
/// # Errors
/// Returns an error for unsupported modules: several functions, scheduled programs, blocks that are more than one
/// statement in plain loops, non-constant sizes.
pub fn computation_of_module(graph: &TvmGraph) -> Result<Computation, NoCanonicalForm> {
    canonical_form(graph, tir::read_stages(graph))
}

/// Converts stages to canonical form.
fn canonical_form(
    graph: &TvmGraph,
    stages: Result<canonical::Stages, Error>,
) -> Result<Computation, NoCanonicalForm> {
    let text = stages.and_then(|stages| stages.canonical_text(&mut StepBudget::for_graph(graph)));
    let text = text.map_err(|error| NoCanonicalForm(error.to_string()))?;
    Ok(Computation { text })
}

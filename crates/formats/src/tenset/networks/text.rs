//! Texts in a graph.

use crate::tvm_json::{Error, NodeRef, StepBudget};

/// Reads the text of a node, which must be text.
pub(super) fn read_text(at: NodeRef<'_>, budget: &mut StepBudget) -> Result<String, Error> {
    let (index, type_key) = (at.index, at.type_key());
    let text = at.text();
    let text =
        text.ok_or_else(|| Error::wrong(format!("node {index} ({type_key}) is not text")))?;
    budget.take(text.len() as u64 + 1)?;
    Ok(text.to_owned())
}

/// Reads the texts of several nodes.
pub(super) fn read_texts<'a>(
    places: impl IntoIterator<Item = NodeRef<'a>>,
    budget: &mut StepBudget,
) -> Result<Vec<String>, Error> {
    let texts = places.into_iter().map(|at| read_text(at, budget));
    texts.collect()
}

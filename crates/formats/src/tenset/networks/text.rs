//! Texts in a graph.

use crate::tvm_json::{Error, NodeRef, StepBudget};

/// Reads the text of a node, which must be text.
pub(super) fn read_text(node: NodeRef<'_>, budget: &mut StepBudget) -> Result<String, Error> {
    let (index, type_key) = (node.index, node.type_key());
    let text = node.text();
    let text =
        text.ok_or_else(|| Error::wrong(format!("node {index} ({type_key}) is not text")))?;
    budget.take(text.len() as u64 + 1)?;
    Ok(text.to_owned())
}

/// Reads the texts of several nodes.
pub(super) fn read_texts<'a>(
    nodes: impl IntoIterator<Item = NodeRef<'a>>,
    budget: &mut StepBudget,
) -> Result<Vec<String>, Error> {
    let texts = nodes.into_iter().map(|node| read_text(node, budget));
    texts.collect()
}

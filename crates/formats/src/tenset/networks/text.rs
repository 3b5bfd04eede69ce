//! Texts in a graph.

use crate::tvm_json::{At, Budget, Error};

/// The text at a place, which has to be one.
pub(super) fn one(at: At<'_>, budget: &mut Budget) -> Result<String, Error> {
    let (index, type_key) = (at.index, at.type_key());
    let text = at.text();
    let text =
        text.ok_or_else(|| Error::wrong(format!("node {index} ({type_key}) should be text")))?;
    budget.take(text.len() as u64 + 1)?;
    Ok(text.to_owned())
}

/// The texts at some places.
pub(super) fn all<'a>(
    places: impl IntoIterator<Item = At<'a>>,
    budget: &mut Budget,
) -> Result<Vec<String>, Error> {
    let texts = places.into_iter().map(|at| one(at, budget));
    texts.collect()
}

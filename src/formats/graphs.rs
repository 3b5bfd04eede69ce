//! Rows of `graphs` that are known by a key alone, and the canonical forms of what graphs compute.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use tsql_formats::computation::Computation;

use crate::column::made::{Columns, integers, texts};

/// Graphs: the identifier, the dataset and the key of each.
pub(crate) fn graph_columns<'a>(
    rows: impl Iterator<Item = (i64, (&'a str, &'a str))> + Clone,
) -> Columns {
    BTreeMap::from([
        ("graph_id", integers(rows.clone().map(|(id, _)| id))),
        (
            "dataset",
            texts(rows.clone().map(|(_, (dataset, _))| dataset)),
        ),
        ("workload_key", texts(rows.map(|(_, (_, key))| key))),
    ])
}

/// The canonical forms of what is computed, as far as there are any, and their hashes.
pub(super) fn form_columns<'a>(
    forms: impl Iterator<Item = Option<&'a Computation>> + Clone,
) -> [(&'static str, ArrayRef); 2] {
    let texts: StringArray = forms.clone().map(|form| Some(&form?.text)).collect();
    let hashes: StringArray = forms.map(|form| Some(form?.hash())).collect();
    [
        ("computation", Arc::new(texts) as ArrayRef),
        ("computation_hash", Arc::new(hashes)),
    ]
}

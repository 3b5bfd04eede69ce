//! Rows of `graphs` that are identified by a key alone, and canonical forms of computations.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use tsql_formats::computation::Computation;
use tsql_schema::column::arrays::{Columns, int64_array, text_array};

/// Columns of `graphs`: identifier, dataset and key.
pub fn graph_columns<'a>(rows: impl Iterator<Item = (i64, (&'a str, &'a str))> + Clone) -> Columns {
    BTreeMap::from([
        ("graph_id", int64_array(rows.clone().map(|(id, _)| id))),
        (
            "dataset",
            text_array(rows.clone().map(|(_, (dataset, _))| dataset)),
        ),
        ("workload_key", text_array(rows.map(|(_, (_, key))| key))),
    ])
}

/// Canonical forms of computations, if there are any, and their hashes.
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

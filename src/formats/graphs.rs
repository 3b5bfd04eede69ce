//! Rows of `graphs` that are known by a key alone.

use std::collections::BTreeMap;

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

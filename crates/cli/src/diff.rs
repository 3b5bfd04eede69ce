//! `tsql diff`: differences between two versions of the store.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;
use tsql_dataset::diff::diff;
use tsql_dataset::diff::{Diff, Difference, SourceDifference};
use tsql_store::At;

use super::outcome::Failure;
use super::output::{Output, show};
use super::store_options::StoreOptions;

/// Count added and removed rows between two versions of the store
///
/// Counts platforms, files (`sources`), records by platform, graphs and configurations, and each other table that
/// differs. Rows with equal keys are equal, also in different files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql diff v1.0 v1.1\n  \
    tsql diff v1.0                        # with the newest version\n  \
    tsql diff 2026-11-01 --by-source      # a row per added, removed or grown file\n  \
    tsql diff records@12 records@13 --format json")]
pub(super) struct Compared {
    /// First version: a tag, a time or a table version, as for --at
    #[arg(value_name = "FROM")]
    before: At,
    /// Second version [default: the newest]
    #[arg(value_name = "TO")]
    after: Option<At>,
    /// List added, removed and grown files
    #[arg(long = "by-source", alias = "sources")]
    sources: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: Compared) -> Result<u8, Failure> {
    let store = place.open().await?;
    let before = store.at(&command.before).await?;
    let after = match &command.after {
        Some(at) => store.at(at).await?,
        None => store,
    };
    let found = diff(&before, &after).await?;
    if command.sources {
        return show(sources(&found), &command.output).await;
    }
    show(counts(&found), &command.output).await
}

fn counts(diff: &Diff) -> [(&'static str, ArrayRef); 6] {
    let number = |get: fn(&Difference) -> u64| -> ArrayRef {
        let numbers = diff.counts.iter().map(|row| get(row).cast_signed());
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let kind = diff.counts.iter().map(|row| row.kind.as_str());
    let platforms = diff.counts.iter().map(|row| row.platform.as_deref());
    [
        ("kind", Arc::new(StringArray::from_iter_values(kind))),
        ("platform", Arc::new(StringArray::from_iter(platforms))),
        ("before", number(|row| row.before)),
        ("after", number(|row| row.after)),
        ("added", number(|row| row.added)),
        ("removed", number(|row| row.removed)),
    ]
}

fn sources(diff: &Diff) -> [(&'static str, ArrayRef); 5] {
    let number = |get: fn(&SourceDifference) -> Option<u64>| -> ArrayRef {
        let numbers = diff
            .sources
            .iter()
            .map(|row| get(row).map(u64::cast_signed));
        Arc::new(Int64Array::from_iter(numbers))
    };
    let text = |get: fn(&SourceDifference) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(diff.sources.iter().map(get)))
    };
    [
        ("dataset", text(|row| &row.dataset)),
        ("platform", text(|row| &row.platform)),
        ("name", text(|row| &row.name)),
        ("records_before", number(|row| row.records_before)),
        ("records_after", number(|row| row.records_after)),
    ]
}

//! `tsql history`: lists the versions of the tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use clap::Args;
use tsql_store::Version;

use super::outcome::Failure;
use super::output::{Output, show};
use super::store_options::StoreOptions;

/// List the versions of all tables, newest first
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql history --format jsonl")]
pub(super) struct History {
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: History) -> Result<u8, Failure> {
    let mut history = place.open().await?.history().await?;
    history.sort_by_key(|version| std::cmp::Reverse(version.at_ms));
    let times = history
        .iter()
        .map(|version| version.at_ms)
        .collect::<TimestampMillisecondArray>();
    let numbers = history.iter().map(|version| version.version.cast_signed());
    let text = |get: fn(&Version) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(history.iter().map(get)))
    };
    show(
        [
            ("at", Arc::new(times.with_timezone("UTC")) as ArrayRef),
            ("table", text(|version| &version.table)),
            ("version", Arc::new(Int64Array::from_iter_values(numbers))),
            ("operation", text(|version| &version.operation)),
            ("detail", text(|version| &version.detail)),
        ],
        &command.output,
    )
    .await
}

//! `tsql worker status`: the state of each worker.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringArray, UInt64Array};
use clap::Args;
use tsql_cluster::Status as WorkerStatus;

use crate::outcome::{DONE, Failure, PARTLY};
use crate::output::{Output, show};
use crate::store_options::StoreOptions;

/// Show whether each worker responds, its stores and its load
///
/// Exit code 1 if a worker does not respond.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql worker status --workers 127.0.0.1:7700,127.0.0.1:7701")]
pub(super) struct Status {
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: Status) -> Result<u8, Failure> {
    let Some(workers) = place.workers()? else {
        let reason = "no workers are given\nhint: --workers HOST:PORT,HOST:PORT or TSQL_WORKERS";
        return Err(Failure::Usage(reason.to_owned()));
    };
    let statuses = workers.status().await?;
    let code = if statuses.iter().all(|(_, status)| status.is_ok()) {
        DONE
    } else {
        PARTLY
    };
    let numbers = |part: &dyn Fn(&WorkerStatus) -> Option<u64>| -> ArrayRef {
        let values = statuses
            .iter()
            .map(|(_, status)| part(status.as_ref().ok()?));
        Arc::new(values.collect::<UInt64Array>())
    };
    let text = |part: &dyn Fn(&WorkerStatus) -> String| -> ArrayRef {
        let values = statuses
            .iter()
            .map(|(_, status)| status.as_ref().ok().map(part));
        Arc::new(values.collect::<StringArray>())
    };
    let stores = |status: &WorkerStatus| {
        let stores = status.stores.iter().map(|store| store.location.as_str());
        stores.collect::<Vec<_>>().join(", ")
    };
    let addresses = statuses
        .iter()
        .map(|(url, _)| url.as_str().trim_end_matches('/'));
    let reasons = statuses.iter().map(|(_, status)| status.as_ref().err());
    let stopping = statuses
        .iter()
        .map(|(_, status)| Some(status.as_ref().ok()?.stopping));
    let columns: [(&str, ArrayRef); 10] = [
        ("worker", Arc::new(StringArray::from_iter_values(addresses))),
        ("version", text(&|status| status.version.clone())),
        ("stores", text(&stores)),
        ("running", numbers(&|status| Some(status.running))),
        ("started", numbers(&|status| Some(status.started))),
        ("failed", numbers(&|status| Some(status.failed))),
        ("memory_bytes", numbers(&|status| Some(status.memory_bytes))),
        (
            "memory_limit_bytes",
            numbers(&|status| status.memory_limit_bytes),
        ),
        ("stopping", Arc::new(stopping.collect::<BooleanArray>())),
        ("error", Arc::new(reasons.collect::<StringArray>())),
    ];
    show(columns, &command.output).await?;
    Ok(code)
}

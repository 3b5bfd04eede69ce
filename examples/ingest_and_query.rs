//! Ingests tuning logs into a store and prints the fastest program of each task.
//!
//! ```console
//! $ cargo run --example ingest_and_query -- STORE LOGS...
//! ```
//!
//! The directory of a log is its platform. A second run ingests only what is new.

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;

use tsql::arrow::util::pretty::pretty_format_batches;
use tsql::{IngestOptions, Store};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let location = arguments.next().unwrap_or_else(|| "memory:".to_owned());
    let mut logs: Vec<String> = arguments.collect();
    if logs.is_empty() {
        logs.push("data".to_owned());
    }

    let store = Store::open_or_create(&location).await?;
    let report = store.ingest(&logs, &IngestOptions::default()).await?;
    println!(
        "{} files, {} records ingested",
        report.files, report.records
    );

    let context = store.session().await?;
    let sql = "
        SELECT platform, workload_name, min(runtime_ns) / 1e3 AS fastest_us, count(*) AS records
        FROM records JOIN graphs USING (graph_id)
        WHERE status = 'ok'
        GROUP BY ALL
        ORDER BY ALL";
    let frame = tsql::query::run_sql(&context, sql, &[]).await?;
    println!("{}", pretty_format_batches(&frame.collect().await?)?);
    Ok(())
}

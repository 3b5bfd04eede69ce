//! `tsql worker run`: runs stages of distributed queries for other machines.

use std::time::Duration;

use clap::Args;
use tsql_store::Store;
use tsql_worker::{Worker as Listening, WorkerOptions};

use crate::outcome::{DONE, Failure};
use crate::stderr::print_message;
use crate::store_options::StoreOptions;

/// Run stages of distributed queries for other machines
///
/// Serves only the stores that it is given, with its own credentials. Clients name it with --workers. Other machines
/// can reach it only with a token (TSQL_TOKEN, or the file in TSQL_TOKEN_FILE), or with certificates on both sides
/// (--tls-cert FILE --tls-key FILE --tls-ca FILE). It serves `/health` and, with authorization, `/metrics` over HTTP.
/// After SIGTERM it finishes running stages and ends. Without --memory-limit nothing limits the memory of a worker, and
/// nothing spills.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql worker run --listen 127.0.0.1:7700 --store s3://measurements/tenset\n  \
    TSQL_TOKEN_FILE=/etc/tsql/token tsql worker run \\\n      \
    --listen 0.0.0.0:7700 s3://measurements/tenset s3://measurements/own\n  \
    tsql --workers 127.0.0.1:7700,127.0.0.1:7701 \\\n      \
    --store s3://measurements/tenset \"SELECT ...\"")]
pub(super) struct Run {
    /// Stores to serve, in addition to --store
    #[arg(value_name = "DIR|URL")]
    stores: Vec<String>,
    /// Address and port to listen on; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    listen: String,
    /// Maximum time of a stage
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
    deadline: Duration,
    /// Maximum time for running stages after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    grace: Duration,
}

/// Default time in seconds that a worker waits for its bucket. Other workers can read it instead.
const BUCKET_S: u64 = 10;

pub(super) async fn run(place: &StoreOptions, command: Run) -> Result<u8, Failure> {
    tsql_store::set_retry_timeout(BUCKET_S);
    let mut stores = Vec::new();
    if place.is_named() || command.stores.is_empty() {
        stores.push(place.open().await?);
    }
    for location in &command.stores {
        stores.push(Store::open(location).await?);
    }
    let mut options = WorkerOptions::default()
        .listen(command.listen)
        .security(place.security()?)
        .deadline(command.deadline)
        .grace(command.grace);
    if let Some(bytes) = place.memory_limit_bytes() {
        options = options.memory_limit_bytes(bytes);
    }
    let served: Vec<String> = stores
        .iter()
        .map(|store| store.location().as_str().to_owned())
        .collect();
    let stop = crate::signals::termination()?;
    let worker = Listening::start(stores, options).await?;
    print_message(&format!(
        "worker listens on {}, serves {}",
        worker.address(),
        served.join(", ")
    ));
    worker
        .serve(async {
            stop.await;
            print_message("accepts no new stages, finishes the running ones");
        })
        .await?;
    Ok(DONE)
}

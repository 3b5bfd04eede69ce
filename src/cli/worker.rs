//! `tsql worker`: takes parts of questions of other machines.

use std::time::Duration;

use clap::Args;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::talk::talk;
use crate::store::Store;
use crate::worker::{Worker as Listening, WorkerOptions};

/// Run parts of other machines' questions
///
/// Serves the stores that it is given, with its own credentials, and nothing else. Whoever asks it says `--workers`.
/// Other machines can reach it only with a token (TSQL_TOKEN, or TSQL_TOKEN_FILE with the name of a file), or with
/// certificates on both sides (--tls-cert FILE --tls-key FILE --tls-ca FILE). It answers `/health` and, to who may ask,
/// `/metrics` over HTTP. SIGTERM ends it when what runs is done.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql worker --listen 127.0.0.1:7700 --store s3://measurements/tenset\n  \
    TSQL_TOKEN_FILE=/etc/tsql/token tsql worker \\\n      \
    --listen 0.0.0.0:7700 s3://measurements/tenset s3://measurements/own\n  \
    tsql --workers 127.0.0.1:7700,127.0.0.1:7701 \\\n      \
    --store s3://measurements/tenset \"SELECT ...\"")]
pub(super) struct Worker {
    /// Stores that it serves, beside that of --store
    #[arg(value_name = "DIR|URL")]
    stores: Vec<String>,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7700")]
    listen: String,
    /// How long a question may run here
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
    deadline: Duration,
    /// How long what runs may go on after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    grace: Duration,
}

/// How long a worker waits for its bucket, in seconds, unless it is told: others can read it in its place.
const BUCKET_S: u64 = 10;

pub(super) async fn run(place: &Place, command: Worker) -> Result<u8, Failure> {
    crate::store::wait_at_most(BUCKET_S);
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
    let stop = super::signals::asked_to_end()?;
    let worker = Listening::start(stores, options).await?;
    talk(&format!(
        "worker listens on {}, serves {}",
        worker.address(),
        served.join(", ")
    ));
    worker
        .serve(async {
            stop.await;
            talk("takes nothing new, finishes what runs");
        })
        .await?;
    Ok(DONE)
}

//! `tsql store`: guarantees of a store's location, and views for other engines.

use std::io::Write as _;

use clap::{Args, Subcommand};
use tsql_dataset::export::duckdb_views;
use tsql_error::Error;
use tsql_store::{Location, ProbeVerdict};

use super::outcome::{DONE, Failure, PARTLY};
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Test the location of a store, or print SQL views for DuckDB
#[derive(Args, Debug)]
pub(super) struct Store {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[command(alias = "check")]
    Probe(Probe),
    Views(Views),
}

/// Test whether a bucket supports atomic commits
///
/// Writers commit by creating the next file of a log, and only one of them may succeed. Some servers with an S3
/// interface do not guarantee this; tsql does not write to them. The test objects are deleted again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql store probe s3://measurements/tenset\n  \
    AWS_ENDPOINT_URL=http://localhost:9000 tsql store probe s3://measurements")]
struct Probe {
    /// Location [default: the location of --store]
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// Print SQL views that show DuckDB the tables as tsql shows them
///
/// The files of a store hold repeats and parameters in packed form. The views unpack them for other engines.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql store views > views.sql\n  \
    duckdb -init views.sql -c \"SELECT status, median(noise) FROM records GROUP BY ALL\"")]
struct Views {}

pub(super) async fn run(place: &StoreOptions, command: Store) -> Result<u8, Failure> {
    match command.command {
        Command::Probe(command) => probe(place, command).await,
        Command::Views(_) => views(place).await,
    }
}

async fn views(place: &StoreOptions) -> Result<u8, Failure> {
    let store = place.open().await?;
    let text = duckdb_views(&store)?;
    let printed = super::stdout::stdout().write_all(text.as_bytes());
    printed.map_err(Error::io("standard output"))?;
    Ok(DONE)
}

async fn probe(place: &StoreOptions, command: Probe) -> Result<u8, Failure> {
    let url = command.url.unwrap_or_else(|| place.new_location());
    let Some(probed) = Location::open(&url).await?.probe().await else {
        print_message("a local disk supports atomic commits");
        return Ok(DONE);
    };
    for check in &probed {
        match &check.problem {
            None => print_message(&format!("ok      {}", check.name)),
            Some(reason) => print_message(&format!("failed  {}: {reason}", check.name)),
        }
    }
    let verdict = ProbeVerdict::from_results(&probed);
    print_message(&match verdict {
        ProbeVerdict::Supported => format!("{url} supports concurrent writers"),
        ProbeVerdict::Unreachable => format!(
            "{url} cannot be checked: no request succeeded\n\
             hint: check the address (AWS_ENDPOINT_URL), the network and the credentials (AWS_ACCESS_KEY_ID, \
             AWS_SECRET_ACCESS_KEY)"
        ),
        ProbeVerdict::Denied => format!(
            "{url} denies required permissions\n\
             hint: a writer needs s3:GetObject, s3:PutObject, s3:ListBucket and s3:DeleteObject; check the credentials"
        ),
        _ => format!(
            "{url} does not support concurrent writers, so tsql does not write to it\n\
             hint: if there is only one writer, set `single_writer = true` of the bucket in \
             tsql.toml, or TSQL_SINGLE_WRITER=1"
        ),
    });
    Ok(match verdict {
        ProbeVerdict::Supported => DONE,
        _ => PARTLY,
    })
}

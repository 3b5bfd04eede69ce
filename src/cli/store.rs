//! `tsql store`: does a place keep what a store needs? How do others read it?

use std::io::Write as _;

use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::talk::talk;
use crate::error::Error;
use crate::store::Location;

/// Look at the place of a store
#[derive(Args, Debug)]
pub(super) struct Store {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Check(Check),
    Views(Views),
}

/// Try whether a bucket does what commits need
///
/// Writers agree by creating the next file of a log, which only one of them may succeed in. Not
/// every server that speaks S3 keeps to that; tsql writes to none that does not. The objects that
/// are tried with are deleted again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql store check s3://measurements/tenset\n  \
    AWS_ENDPOINT_URL=http://localhost:9000 tsql store check s3://measurements")]
struct Check {
    /// The place [default: that of --store]
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// Print SQL by which DuckDB sees the tables as tsql shows them
///
/// Other engines find in a store what its files hold: repeats and parameters are packed there. These
/// views unpack them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql store views > views.sql\n  \
    duckdb -init views.sql -c \"SELECT status, median(noise) FROM records GROUP BY ALL\"")]
struct Views {}

pub(super) async fn run(place: &Place, command: Store) -> Result<u8, Failure> {
    match command.command {
        Command::Check(command) => check(place, command).await,
        Command::Views(_) => views(place).await,
    }
}

async fn views(place: &Place) -> Result<u8, Failure> {
    let store = place.open().await?;
    let text = store.duckdb_views()?;
    let printed = super::stdout::stdout().write_all(text.as_bytes());
    printed.map_err(Error::io("standard output"))?;
    Ok(DONE)
}

async fn check(place: &Place, check: Check) -> Result<u8, Failure> {
    let url = check.url.unwrap_or_else(|| place.new_location());
    let Some(probed) = Location::open(&url).await?.probe().await else {
        talk("a local disk has what commits need");
        return Ok(DONE);
    };
    let mut wrong = 0;
    for check in &probed {
        match &check.wrong {
            None => talk(&format!("ok      {}", check.what)),
            Some(reason) => {
                wrong += 1;
                talk(&format!("WRONG   {}: {reason}", check.what));
            }
        }
    }
    if wrong == 0 {
        talk(&format!("{url} can be written to by many at once"));
        return Ok(DONE);
    }
    talk(&format!(
        "{url} does not keep writers apart: tsql writes nothing there\n\
         hint: if nobody else ever writes, say `single_writer = true` of the bucket in tsql.toml, or \
         TSQL_SINGLE_WRITER=1"
    ));
    Ok(PARTLY)
}

//! `tsql store check`: does a place keep what a store needs?

use clap::{Args, Subcommand};

use super::place::Place;
use super::{DONE, Failure, PARTLY, talk};
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

pub(super) async fn run(place: &Place, command: Store) -> Result<u8, Failure> {
    let Command::Check(check) = command.command;
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

//! `tsql subset`: named lists of samples.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure};
use super::output::{Output, print};
use super::place::Place;
use super::talk::{counted, talk};
use crate::error::Error;
use crate::graphnet::{self, SubsetOptions};

/// Keep the answer of a query under a name and a version
///
/// Benchmarks are run over lists of samples. A subset is such a list, made by a query or drawn from
/// its answer with a seed; making it again makes the next version, older ones stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql subset create nlp \\\n      \
    --query \"SELECT path FROM samples WHERE heuristic_tag = 'nlp'\"\n  \
    tsql subset create random400 \\\n      \
    --query \"SELECT path FROM samples WHERE variant_of IS NULL\" --random 400 \\\n      \
    --seed 7\n  \
    tsql subset list\n  \
    tsql subset show nlp -o nlp.txt          # one path a line\n  \
    tsql \"SELECT avg(node_count) FROM samples JOIN subset_members\n      \
    ON path = member WHERE name = 'nlp'\"")]
pub(super) struct Subset {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make the next version of a list
    Create(Create),
    /// List all versions of all lists
    List(List),
    /// Print the members, one a line
    Show(Show),
}

#[derive(Args, Debug)]
struct Create {
    /// Name of the list
    name: String,
    /// Query whose first column has the members
    #[arg(long, value_name = "SQL")]
    query: String,
    /// Draw so many of them
    #[arg(long, value_name = "N", requires = "seed")]
    random: Option<usize>,
    /// Seed to draw them with
    #[arg(long, value_name = "S", requires = "random")]
    seed: Option<u64>,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Show {
    /// Name of the list
    name: String,
    /// Version [default: the newest]
    #[arg(long)]
    version: Option<i64>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &Place, command: Subset) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            let random = create.random.zip(create.seed);
            let options = SubsetOptions { random };
            let made = graphnet::create_subset(&store, &create.name, &create.query, &options);
            let made = made.await?;
            let members = counted(made.members.len() as u64, "member");
            talk(&format!(
                "{}, version {}: {members}",
                made.name, made.version
            ));
        }
        Action::List(list) => {
            let context = store.session().await?;
            let sql = "SELECT name, version, member_count, random, seed, created_at, query FROM subsets ORDER BY name, version";
            let frame = context.sql(sql).await.map_err(Error::Query)?;
            let rows = frame.execute_stream().await.map_err(Error::Query)?;
            print(rows, &list.output).await?;
        }
        Action::Show(show) => {
            let subset = graphnet::subset(&store, &show.name, show.version).await?;
            let lines: String = subset
                .members
                .iter()
                .map(|one| format!("{one}\n"))
                .collect();
            let written = match &show.output {
                Some(path) => tsql_folders::write_file(path, lines).map_err(Error::from),
                None => crate::cli::stdout::stdout()
                    .write_all(lines.as_bytes())
                    .map_err(Error::io("standard output")),
            };
            match written {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {}
                other => other?,
            }
        }
    }
    Ok(DONE)
}

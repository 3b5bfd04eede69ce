//! `tsql subset`: named lists of samples.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_ml::graphnet;
use tsql_ml::graphnet::SubsetOptions;
use tsql_session::open_session;

use super::deletion::Deletion;
use super::outcome::{DONE, Failure};
use super::output::{Output, print};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Store the result of a query as a named, versioned list
///
/// Benchmarks run over lists of samples. A subset is such a list: the result of a query, or a random sample of it with
/// a seed. Creating it again adds a version; earlier versions stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql subset create nlp \\\n      \
    --query \"SELECT path FROM samples WHERE heuristic_tag = 'nlp'\"\n  \
    tsql subset create random400 \\\n      \
    --query \"SELECT path FROM samples WHERE variant_of IS NULL\" --random 400 \\\n      \
    --seed 7\n  \
    tsql subset create grid --tasks 50 --programs 200 --seed 7\n  \
    tsql subset list\n  \
    tsql subset show nlp@2 -o nlp.txt        # one path per line\n  \
    tsql subset delete nlp@1\n  \
    tsql \"SELECT avg(node_count) FROM samples JOIN subset_members\n      \
    ON path = member WHERE name = 'nlp'\"")]
pub(super) struct Subset {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Create the next version of a list
    Create(Create),
    /// List all versions of all lists
    List(List),
    /// Print the members, one per line
    Show(Show),
    /// Delete a list, or one version of it
    Delete(Delete),
}

#[derive(Args, Debug)]
struct Create {
    /// Name of the list
    name: String,
    /// Query whose first column contains the members, and with --tasks its second column their tasks
    ///
    /// With --tasks, the default is all configurations with records, and their graphs.
    #[arg(long, value_name = "SQL", required_unless_present = "tasks")]
    query: Option<String>,
    /// Number of members to sample at random
    #[arg(long, value_name = "N", requires = "seed")]
    random: Option<usize>,
    /// Number of tasks to sample at random
    ///
    /// A smaller number of tasks or programs with the same seed selects a part of a larger one.
    #[arg(long, value_name = "N", requires_all = ["programs", "seed"], conflicts_with = "random")]
    tasks: Option<usize>,
    /// Number of members to sample of each task; all if it has fewer
    #[arg(long, value_name = "M", requires = "tasks")]
    programs: Option<usize>,
    /// Seed of the sampling
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Show {
    /// Name of the list, or NAME@VERSION
    name: String,
    #[arg(long, hide = true)]
    version: Option<i64>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Delete {
    /// Name of the list, with all its versions, or NAME@VERSION
    name: String,
    #[command(flatten)]
    deletion: Deletion,
}

pub(super) async fn run(place: &StoreOptions, command: Subset) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            if create.seed.is_some() && create.random.is_none() && create.tasks.is_none() {
                let reason = "--seed needs --random or --tasks";
                return Err(Failure::Usage(reason.to_owned()));
            }
            let random = create.random.zip(create.seed);
            let tasks = create.tasks.zip(create.programs).zip(create.seed);
            let options = SubsetOptions::default()
                .set_if(random, |options, (count, seed)| options.random(count, seed))
                .set_if(tasks, |options, ((tasks, programs), seed)| {
                    options.tasks(tasks, programs, seed)
                });
            let query = create.query.as_deref().unwrap_or(graphnet::TASK_QUERY);
            let created = graphnet::create_subset(&store, &create.name, query, &options).await?;
            let members = count_noun(created.members.len() as u64, "member");
            print_message(&format!(
                "{}, version {}: {members}",
                created.name, created.version
            ));
        }
        Action::Delete(delete) => {
            let what = match delete.name.contains('@') {
                true => format!("the subset {}", delete.name),
                false => format!("all versions of the subset {}", delete.name),
            };
            if delete.deletion.is_confirmed(&what)? {
                let count = graphnet::delete_subset(&store, &delete.name).await?;
                let count = count_noun(count, "version");
                print_message(&format!("{}: {count} deleted", delete.name));
            }
        }
        Action::List(list) => {
            let context = open_session(&store).await?;
            let sql = "SELECT name, version, member_count, tasks, random, seed, created_at, query FROM subsets ORDER BY name, version";
            let frame = context.sql(sql).await.map_err(Error::Query)?;
            let rows = frame.execute_stream().await.map_err(Error::Query)?;
            print(rows, &list.output).await?;
        }
        Action::Show(show) => {
            let (name, version) = match show.name.rsplit_once('@') {
                Some((name, version)) => {
                    let number = version.parse().map_err(|_| {
                        Failure::Usage(format!("`{version}` is not a version\nhint: NAME@2"))
                    })?;
                    (name, Some(number))
                }
                None => (show.name.as_str(), show.version),
            };
            let subset = graphnet::subset(&store, name, version).await?;
            let lines: String = subset
                .members
                .iter()
                .map(|one| format!("{one}\n"))
                .collect();
            let written = match &show.output {
                Some(path) => tsql_store::atomic_output::write_output(path, lines),
                None => crate::stdout::stdout()
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

//! `tsql export`: exports files, records, and datasets for other programs.

mod training;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tsql_dataset::auto_scheduler::export_lines;
use tsql_dataset::export::{ExportOptions, export};
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_ml::graphnet::{HubOptions, export_hub};
use tsql_ml::metaschedule::{DatabaseOptions, export_databases};
use tsql_ml::tpugraphs::write_submission;
use tsql_store::Store;
use tsql_store::atomic_output::create_output;

use training::Training;

use super::outcome::{DONE, Failure, PARTLY};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Number of files of each kind that are listed.
const SHOWN: usize = 20;

/// Export files, records, or datasets for other programs
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export files -o back/\n  \
    tsql export lines --where \"platform = 'a100' AND error_no = 0\" -o best.json\n  \
    tsql export training --features workload_shape -o rows\n\n\
    `tsql help export COMMAND` explains a command.")]
pub(super) struct Export {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Files(Files),
    Lines(Lines),
    Databases(Databases),
    Submission(Submission),
    Hub(Hub),
    Training(Box<Training>),
}

/// Write ingested files again, byte for byte
///
/// Each file is verified against the hash that was computed when it was ingested (TpuGraphs: each array bit for bit,
/// in a new zip file). Compressed files are compressed again: the same content in another container. The list
/// tsql-export.json lets `tsql ingest` read the files again in their formats. Existing files stay, unless --overwrite
/// is given.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export files -o back/\n  \
    tsql export files -o back/ --source 'k80/*' --overwrite\n  \
    tsql export files -o back/ \\\n      \
    --where \"path = 'samples/torchvision/resnet18'\"  # of GraphNet")]
struct Files {
    /// Folder for the files
    #[arg(short, long, value_name = "DIR", alias = "to")]
    output: PathBuf,
    /// Only sources whose names match this pattern (`*` and `?`)
    #[arg(long, value_name = "PATTERN")]
    source: Option<String>,
    /// SQL condition over `samples`: only the files of these GraphNet samples
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
}

/// Write records as auto_scheduler JSON lines, which TVM loads
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    tsql export lines --where \"platform = 'a100' AND error_no = 0\" \\\n      \
    -o best.json")]
struct Lines {
    /// SQL condition over `records`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Write records as MetaSchedule databases
///
/// One database per target and platform: a folder with the tuning records and the workloads that they refer to.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql export databases --where \"platform = 'a100'\" -o tuned")]
struct Databases {
    /// SQL condition over `records`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// Folder for the databases
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
}

/// Write predictions as a submission to Kaggle's "Fast or Slow?", the TpuGraphs competition
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    tsql export submission --predictions predictions.parquet \\\n      \
    -o submission.csv")]
struct Submission {
    /// CSV or Parquet file, or a query in parentheses, with the columns id, sample (index of the configuration, from 0)
    /// and score (lower is faster)
    #[arg(long, value_name = "FILE|(SQL)")]
    predictions: String,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Write GraphNet samples as the Parquet file of its hub: path, content, source_folder
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tsql export hub --where \"heuristic_tag = 'nlp'\" -o nlp.parquet"
)]
struct Hub {
    /// SQL condition over `samples`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &StoreOptions, command: Export) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.what {
        What::Files(command) => export_files(&store, &command).await,
        What::Databases(command) => databases(&store, &command).await,
        What::Training(command) => {
            training::run(&store, &command, place.memory_limit_bytes()).await
        }
        What::Lines(command) => {
            let predicate = command.predicate.as_deref();
            let write = async |out: &mut Out| {
                let records = export_lines(&store, predicate.unwrap_or("true"), out).await?;
                Ok((records, "record"))
            };
            let written = into(command.output.as_deref(), write).await?;
            Ok(finish(written, "record", predicate))
        }
        What::Submission(command) => {
            let write = async |out: &mut Out| {
                let rows = write_submission(&store, &command.predictions, out).await?;
                Ok((rows, "row"))
            };
            let written = into(command.output.as_deref(), write).await?;
            Ok(finish(written, "row", None))
        }
        What::Hub(command) => {
            let write = async |out: &mut Out| {
                let options =
                    HubOptions::default().set_if(command.predicate.clone(), HubOptions::samples);
                let exported = export_hub(&store, &options, out).await?;
                for (name, reason) in &exported.damaged {
                    print_message(&format!("{name}: {reason}"));
                }
                Ok((exported.files, "file"))
            };
            let written = into(command.output.as_deref(), write).await?;
            Ok(finish(written, GRAPHNET, command.predicate.as_deref()))
        }
    }
}

/// Standard output, or a file.
type Out = dyn std::io::Write + Send;

/// Noun for the rows that `--where` selects in exports of GraphNet.
const GRAPHNET: &str = "GraphNet sample";

/// Writes to a file, which appears when it is complete, or to standard output. Returns the count that `write` returns;
/// `None` if the reader of standard output is gone.
async fn into(
    path: Option<&Path>,
    write: impl AsyncFnOnce(&mut Out) -> Result<(u64, &'static str), Error>,
) -> Result<Option<(u64, &'static str)>, Failure> {
    let written = match path {
        Some(path) => {
            let (output, file) = create_output(path)?;
            let mut out = std::io::BufWriter::new(file);
            let written = write(&mut out).await;
            if written.is_ok() {
                out.flush().map_err(Error::io(path))?;
                output.finish().map_err(Error::from)?;
            }
            written
        }
        None => write(&mut std::io::BufWriter::new(super::stdout::stdout())).await,
    };
    match written {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(None)
        }
        other => Ok(other.map(Some)?),
    }
}

/// Reports the count of an export; returns the exit code.
fn finish(written: Option<(u64, &'static str)>, selected: &str, predicate: Option<&str>) -> u8 {
    match written {
        Some((0, _)) if predicate.is_some() => {
            nothing(selected, None, predicate);
            return PARTLY;
        }
        Some((count, noun)) => print_message(&count_noun(count, noun)),
        None => {}
    }
    DONE
}

/// Writes databases, and reports them.
async fn databases(store: &Store, command: &Databases) -> Result<u8, Failure> {
    let mut options = DatabaseOptions::default().overwrite(command.overwrite);
    if let Some(predicate) = &command.predicate {
        options = options.predicate(predicate);
    }
    let exported = export_databases(store, &command.output, &options).await?;
    for database in &exported.databases {
        print_message(&format!(
            "{}: {} of {}",
            visible(&database.folder),
            count_noun(database.records, "record"),
            count_noun(database.workloads, "workload")
        ));
    }
    if exported.other_records > 0 {
        print_message(&format!(
            "left out: {} of formats without databases",
            count_noun(exported.other_records, "record")
        ));
    }
    if exported.rejected.is_empty() {
        return Ok(DONE);
    }
    let rejected = exported.rejected.iter();
    print_files(
        rejected
            .map(|(name, reason)| (name, reason.clone()))
            .collect(),
    );
    print_message("hint: --overwrite replaces existing files");
    Ok(PARTLY)
}

/// Writes sources, and reports the result of each.
async fn export_files(store: &Store, command: &Files) -> Result<u8, Failure> {
    let options = ExportOptions::default()
        .overwrite(command.overwrite)
        .set_if(command.source.clone(), ExportOptions::source)
        .set_if(command.predicate.clone(), ExportOptions::samples);
    let exported = export(store, &command.output, &options).await?;
    let chosen = command.source.is_some() || command.predicate.is_some();
    if chosen && exported.selected == 0 {
        nothing(
            GRAPHNET,
            command.source.as_deref(),
            command.predicate.as_deref(),
        );
        return Ok(PARTLY);
    }
    let renamed = exported.renamed.iter();
    let renamed = renamed.map(|(name, path)| (name, format!("written as {path}")));
    let rejected = exported.rejected.iter().chain(&exported.damaged);
    let rejected = rejected.map(|(name, reason)| (name, reason.clone()));
    print_files(renamed.collect());
    print_files(rejected.collect());
    if !exported.rejected.is_empty() {
        print_message("hint: --overwrite replaces existing files");
    }
    let files = count_noun(exported.files, "file");
    print_message(&format!(
        "{files}, {} bytes, {} different from the ingested files",
        exported.bytes,
        exported.damaged.len()
    ));
    if exported.recompressed > 0 {
        print_message(&format!(
            "{} of them were compressed again, so their compressed bytes may differ",
            exported.recompressed
        ));
    }
    if exported.unchanged > 0 {
        print_message(&format!(
            "{} of them already existed and were not changed",
            exported.unchanged
        ));
    }
    if !exported.rejected.is_empty() {
        print_message(&format!(
            "{} not written",
            count_noun(exported.rejected.len() as u64, "file")
        ));
    }
    Ok(if exported.is_clean() { DONE } else { PARTLY })
}

/// Prints lines about files, at most [`SHOWN`].
fn print_files(lines: Vec<(&String, String)>) {
    for (name, message) in lines.iter().take(SHOWN) {
        print_message(&format!("{}: {message}", visible(name)));
    }
    if lines.len() > SHOWN {
        print_message(&format!("... and {} more", lines.len() - SHOWN));
    }
}

/// Returns a name with control characters escaped.
fn visible(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

/// Reports that nothing was selected.
fn nothing(selected: &str, source: Option<&str>, predicate: Option<&str>) {
    match (source, predicate) {
        (Some(pattern), None) => {
            print_message(&format!("no source matches `{pattern}`"));
            print_message(
                "hint: names begin with the folder that was ingested; `tsql queries sources` lists them",
            );
        }
        (Some(pattern), Some(sql)) => {
            print_message(&format!(
                "no source matches `{pattern}` and belongs to a sample with `{sql}`"
            ));
        }
        (None, sql) => {
            print_message(&format!(
                "no {selected} matches `{}`",
                sql.unwrap_or("true")
            ));
            if selected == GRAPHNET {
                print_message(
                    "hint: --where is a condition over `samples`; `tsql export files --source` selects other sources",
                );
            }
        }
    }
}

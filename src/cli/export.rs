//! `tsql export`: the store's content given back.

mod training;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tsql_folders::OutputFile;

use super::outcome::{DONE, Failure, PARTLY};
use super::place::Place;
use super::talk::{counted, talk};
use crate::auto_scheduler::export_lines;
use crate::delivered::check_outside;
use crate::error::Error;
use crate::export::ExportOptions;
use crate::graphnet::{HubOptions, export_hub};
use crate::metaschedule::{DatabaseOptions, export_databases};
use crate::store::Store;
use crate::tpugraphs::write_submission;
use training::Training;

/// Files of each kind that are told.
const SHOWN: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// auto_scheduler JSON lines
    Tenset,
    /// Submission to the TpuGraphs competition, from --predictions
    Submission,
    /// Parquet of GraphNet's hub: path, content, source_folder
    Graphnet,
    /// Databases of MetaSchedule, one for each target and platform: both files of each, into the folder -o
    Databases,
    /// Rows with features, labels and groups, a folder for each part of a split, into the folder -o
    Training,
}

/// Give sources back byte for byte, or records as log lines
///
/// With --to, every ingested file is written again under its name, proven against the hash that was taken
/// when it was ingested (TpuGraphs: every array bit for bit, in a zip file of our own). Files that were
/// compressed are compressed anew: the same bytes inside, another container. The list tsql-export.json
/// beside them lets `tsql ingest` take them in again as what they were. Files that are there already stay,
/// unless --overwrite is given. With --format tenset,
/// the records that --where selects are written as lines that TVM loads; with --format databases, those of MetaSchedule
/// as its databases: tuning records and the workloads that they refer to; with --format submission,
/// predictions as a file for Kaggle's "Fast or Slow?"; with --format graphnet, the files of the
/// samples that --where selects as the Parquet file of GraphNet's hub. With --format training, records become
/// files for training: rows by group, as LightGBM and XGBoost rank them, and a manifest of all that they follow from, which
/// --verify compares with what there is.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export --to back/\n  \
    tsql export --to back/ --source 'a100/*conv2d*' --overwrite\n  \
    tsql export --to back/ \\\n      \
    --where \"path = 'samples/torchvision/resnet18'\"  # of GraphNet\n  \
    tsql export --format tenset --where \"platform = 'a100' AND error_no = 0\" \\\n      \
    -o best.json\n  \
    tsql export --format databases --where \"platform = 'a100'\" -o tuned\n  \
    tsql export --format submission --predictions predictions.parquet \\\n      \
    -o submission.csv\n  \
    tsql export --format graphnet --where \"heuristic_tag = 'nlp'\" -o nlp.parquet\n  \
    tsql export --format training --features workload_shape -o rows\n  \
    tsql export --verify rows/manifest.json")]
pub(super) struct Export {
    /// Folder that the files are written to
    #[arg(long, value_name = "DIR", required_unless_present_any = ["format", "verify"])]
    to: Option<PathBuf>,
    /// Only sources whose name matches this pattern
    #[arg(long, value_name = "PATTERN", requires = "to")]
    source: Option<String>,
    /// Replace files that are there already
    #[arg(long)]
    overwrite: bool,
    /// Write records in this format instead
    #[arg(long, value_enum, conflicts_with = "to")]
    format: Option<Form>,
    /// What is written: SQL over `records`; with --to or --format graphnet, SQL over `samples`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// Predictions: a CSV or Parquet file, or a query in parentheses, with the columns id, sample
    /// (index of the configuration, from 0) and score (lower is faster)
    #[arg(
        long,
        value_name = "FILE|(SQL)",
        required_if_eq("format", "submission")
    )]
    predictions: Option<String>,
    /// Write to this file [default: standard output]; of --format training and databases, to this folder
    #[arg(short, long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
    /// Compare files for training with their manifest, and make them again: what differs, a line each
    #[arg(long, value_name = "MANIFEST", conflicts_with_all = ["to", "format"])]
    verify: Option<PathBuf>,
    #[command(flatten)]
    training: Training,
}

pub(super) async fn run(place: &Place, command: Export) -> Result<u8, Failure> {
    let store = place.open().await?;
    for path in command.to.iter().chain(&command.output) {
        check_outside(path)?;
    }
    if let Some(folder) = &command.to {
        return give_back(&store, &command, folder).await;
    }
    if let Some(manifest) = &command.verify {
        return training::verify(&store, manifest).await;
    }
    if command.format == Some(Form::Training) {
        let Some(folder) = &command.output else {
            let reason = "files for training go into a folder: -o DIR".to_owned();
            return Err(Failure::Usage(reason));
        };
        let (wanted, predicate) = (&command.training, command.predicate.as_deref());
        let limit = place.memory_limit_bytes();
        return training::write(&store, wanted, predicate, folder, command.overwrite, limit).await;
    }
    if command.format == Some(Form::Databases) {
        return databases(&store, &command).await;
    }
    if command.overwrite {
        let reason = "--overwrite is for --to and --format training or databases".to_owned();
        return Err(Failure::Usage(reason));
    }
    let written = match &command.output {
        Some(path) => {
            let (output, file) = OutputFile::create(path).map_err(Error::from)?;
            let mut out = std::io::BufWriter::new(file);
            let written = write(&store, &command, &mut out).await;
            if written.is_ok() {
                out.flush().map_err(Error::io(path))?;
                output.finish().map_err(Error::from)?;
            }
            written
        }
        None => {
            let mut out = std::io::BufWriter::new(super::stdout::stdout());
            write(&store, &command, &mut out).await
        }
    };
    match written {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error.into()),
        Ok((0, _)) if command.predicate.is_some() => {
            nothing(&command);
            return Ok(PARTLY);
        }
        Ok((count, what)) => talk(&counted(count, what)),
    }
    Ok(DONE)
}

/// Writes databases, and reports them.
async fn databases(store: &Store, command: &Export) -> Result<u8, Failure> {
    let Some(folder) = &command.output else {
        let reason = "databases are written to a folder: -o DIR".to_owned();
        return Err(Failure::Usage(reason));
    };
    let mut options = DatabaseOptions::default().overwrite(command.overwrite);
    if let Some(predicate) = &command.predicate {
        options = options.predicate(predicate);
    }
    let exported = export_databases(store, folder, &options).await?;
    for database in &exported.databases {
        talk(&format!(
            "{}: {} of {}",
            visible(&database.folder),
            counted(database.records, "record"),
            counted(database.workloads, "workload")
        ));
    }
    if exported.other_records > 0 {
        talk(&format!(
            "left out: {} of other formats, which are in no database",
            counted(exported.other_records, "record")
        ));
    }
    if exported.refused.is_empty() {
        return Ok(DONE);
    }
    let refused = exported.refused.iter();
    listed(
        refused
            .map(|(name, reason)| (name, reason.clone()))
            .collect(),
    );
    talk("hint: --overwrite replaces files that are there");
    Ok(PARTLY)
}

/// Writes sources, and says what became of them.
async fn give_back(store: &Store, command: &Export, folder: &Path) -> Result<u8, Failure> {
    let options = ExportOptions {
        source: command.source.clone(),
        samples: command.predicate.clone(),
        overwrite: command.overwrite,
    };
    let exported = store.export(folder, &options).await?;
    let chosen = command.source.is_some() || command.predicate.is_some();
    if chosen && exported.wanted == 0 {
        nothing(command);
        return Ok(PARTLY);
    }
    let renamed = exported.renamed.iter();
    let renamed = renamed.map(|(name, path)| (name, format!("comes back as {path}")));
    let refused = exported.refused.iter().chain(&exported.damaged);
    let refused = refused.map(|(name, reason)| (name, reason.clone()));
    listed(renamed.collect());
    listed(refused.collect());
    if !exported.refused.is_empty() {
        talk("hint: --overwrite replaces files that are there");
    }
    let files = counted(exported.files, "file");
    talk(&format!(
        "{files}, {} bytes, {} differ from what was ingested",
        exported.bytes,
        exported.damaged.len()
    ));
    if exported.recompressed > 0 {
        talk(&format!(
            "{} of them compressed anew: the same bytes inside, another container",
            exported.recompressed
        ));
    }
    if exported.untouched > 0 {
        talk(&format!(
            "{} of them were there already, and were left as they are",
            exported.untouched
        ));
    }
    if !exported.refused.is_empty() {
        talk(&format!(
            "{} not written",
            counted(exported.refused.len() as u64, "file")
        ));
    }
    Ok(if exported.is_clean() { DONE } else { PARTLY })
}

/// Lines about files, unless they are too many.
fn listed(lines: Vec<(&String, String)>) {
    for (name, said) in lines.iter().take(SHOWN) {
        talk(&format!("{}: {said}", visible(name)));
    }
    if lines.len() > SHOWN {
        talk(&format!("... and {} more", lines.len() - SHOWN));
    }
}

/// A name without what a terminal would take for orders.
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

/// Says that there is nothing to be written.
fn nothing(command: &Export) {
    let records = command.to.is_none() && command.format == Some(Form::Tenset);
    let of = if records {
        "record"
    } else {
        "sample of GraphNet"
    };
    match (&command.source, &command.predicate) {
        (Some(pattern), None) => {
            talk(&format!("no source matches `{pattern}`"));
            talk("hint: `tsql queries sources` lists them");
        }
        (Some(pattern), Some(sql)) => {
            talk(&format!(
                "no source matches `{pattern}` and is of a sample with `{sql}`"
            ));
        }
        (None, sql) => {
            talk(&format!(
                "no {of} matches `{}`",
                sql.as_deref().unwrap_or("true")
            ));
            if !records {
                talk(
                    "hint: --where is SQL over `samples`; sources of any kind are chosen with --source",
                );
            }
        }
    }
}

/// Writes what was asked for; says how much it was.
async fn write(
    store: &Store,
    command: &Export,
    out: &mut (dyn std::io::Write + Send),
) -> Result<(u64, &'static str), Error> {
    if command.format == Some(Form::Graphnet) {
        let options = HubOptions {
            samples: command.predicate.clone(),
        };
        let exported = export_hub(store, &options, out).await?;
        for (name, reason) in &exported.damaged {
            talk(&format!("{name}: {reason}"));
        }
        return Ok((exported.files, "file"));
    }
    if let (Some(Form::Submission), Some(predictions)) = (command.format, &command.predictions) {
        let rows = write_submission(store, predictions, out).await?;
        return Ok((rows, "row"));
    }
    let predicate = command.predicate.as_deref().unwrap_or("true");
    let records = export_lines(store, predicate, out).await?;
    Ok((records, "record"))
}

//! `tsql export`: the store's content given back.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::place::Place;
use super::{DONE, Failure, PARTLY, counted, talk};
use crate::error::Error;
use crate::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// auto_scheduler JSON lines
    Tenset,
    /// Submission to the TpuGraphs competition, from --predictions
    Submission,
    /// Parquet of GraphNet's hub: path, content, source_folder
    Graphnet,
}

/// Give sources back byte for byte, or records as log lines
///
/// With --to, every ingested file is written again, proven against the hash that was taken when it
/// was ingested (TpuGraphs: every array bit for bit, in a zip file of our own). With --format tenset,
/// the records that --where selects are written as lines that TVM loads; with --format submission,
/// predictions as a file for Kaggle's "Fast or Slow?"; with --format graphnet, the files of the
/// samples that --where selects as the Parquet file of GraphNet's hub.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export --to back/\n  \
    tsql export --to back/ --source 'a100/*conv2d*'\n  \
    tsql export --to back/ --where \"path = 'samples/torchvision/resnet18'\"  # of GraphNet\n  \
    tsql export --format tenset --where \"platform = 'a100' AND error_no = 0\" -o best.json\n  \
    tsql export --format submission --predictions predictions.parquet -o submission.csv\n  \
    tsql export --format graphnet --where \"heuristic_tag = 'nlp'\" -o nlp.parquet")]
pub(super) struct Export {
    /// Folder that the files are written to
    #[arg(long, value_name = "DIR", required_unless_present = "format")]
    to: Option<PathBuf>,
    /// Only sources whose name matches this pattern
    #[arg(long, value_name = "PATTERN", requires = "to")]
    source: Option<String>,
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
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &Place, command: Export) -> Result<u8, Failure> {
    let store = place.open().await?;
    if let Some(folder) = &command.to {
        let exported = store
            .export(
                folder,
                command.source.as_deref(),
                command.predicate.as_deref(),
            )
            .await?;
        for (name, reason) in &exported.damaged {
            talk(&format!("{name}: {reason}"));
        }
        let files = counted(exported.files, "file");
        talk(&format!(
            "{files}, {} bytes, {} differ from what was ingested",
            exported.bytes,
            exported.damaged.len()
        ));
        return Ok(if exported.damaged.is_empty() {
            DONE
        } else {
            PARTLY
        });
    }
    let written = match &command.output {
        Some(path) => {
            let file = std::fs::File::create(path).map_err(Error::io(path))?;
            write(&store, &command, &mut std::io::BufWriter::new(file)).await
        }
        None => {
            let mut out = std::io::BufWriter::new(std::io::stdout());
            write(&store, &command, &mut out).await
        }
    };
    match written {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error.into()),
        Ok(written) => talk(&written),
    }
    Ok(DONE)
}

/// Writes what was asked for; says how much it was.
async fn write(
    store: &Store,
    command: &Export,
    out: &mut (dyn std::io::Write + Send),
) -> Result<String, Error> {
    if command.format == Some(Form::Graphnet) {
        let exported = store.export_hub(command.predicate.as_deref(), out).await?;
        for (name, reason) in &exported.damaged {
            talk(&format!("{name}: {reason}"));
        }
        return Ok(counted(exported.files, "file"));
    }
    if let (Some(Form::Submission), Some(predictions)) = (command.format, &command.predictions) {
        let rows = store.write_submission(predictions, out).await?;
        return Ok(counted(rows, "row"));
    }
    let records = store
        .export_lines(command.predicate.as_deref().unwrap_or("true"), out)
        .await?;
    Ok(counted(records, "record"))
}

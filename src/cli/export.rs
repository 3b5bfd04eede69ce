//! `tsql export`: the store's content given back.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::place::Place;
use super::{DONE, Failure, PARTLY, counted, talk};
use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// auto_scheduler JSON lines
    Tenset,
}

/// Give sources back byte for byte, or records as log lines
///
/// With --to, every ingested file is written again, proven against the hash that was taken when it
/// was ingested. With --format, the records that --where selects are written as lines that TVM
/// loads.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql export --to back/\n  \
    tsql export --to back/ --source 'a100/*conv2d*'\n  \
    tsql export --format tenset --where \"platform = 'a100' AND error_no = 0\" -o best.json")]
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
    /// Records that are written: SQL over `records`
    #[arg(
        long = "where",
        value_name = "SQL",
        default_value = "true",
        requires = "format"
    )]
    predicate: String,
    /// Write the lines to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "format")]
    output: Option<PathBuf>,
}

pub(super) async fn run(place: &Place, command: Export) -> Result<u8, Failure> {
    let store = place.open().await?;
    if let Some(folder) = &command.to {
        let exported = store.export(folder, command.source.as_deref()).await?;
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
    let records = match &command.output {
        Some(path) => {
            let file = std::fs::File::create(path).map_err(Error::io(path))?;
            let mut out = std::io::BufWriter::new(file);
            store.export_lines(&command.predicate, &mut out).await?
        }
        None => {
            let mut out = std::io::BufWriter::new(std::io::stdout());
            match store.export_lines(&command.predicate, &mut out).await {
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::BrokenPipe =>
                {
                    return Ok(DONE);
                }
                other => other?,
            }
        }
    };
    talk(&counted(records, "record"));
    Ok(DONE)
}

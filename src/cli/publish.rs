//! `tsql publish`: the store as a dataset for others.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;
use indicatif::HumanBytes;

use super::bar;
use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::place::Place;
use super::talk::{counted, talk};
use crate::error::Error;
use crate::publish::{PublishOptions, Published, PublishedTable};

/// What its bar says.
const STYLE: &str = "{spinner} {human_pos} {msg}, {per_sec}, {prefix} written, {elapsed}";

/// Write a dataset that people without tsql can use
///
/// Plain Parquet, a folder for each table and view; a dataset card (README.md) with counts by platform, operator and
/// error; Croissant metadata (croissant.json); checksums (SHA256SUMS). `pyarrow`, pandas, DuckDB, `datasets` and
/// `mlcroissant` read it. Publishing the same version twice gives the same bytes.
///
/// Not published: tags, the ledger with its paths on this machine, and texts that only serve to give files back.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql publish gemm --title \"GEMM on two GPUs\" --license CC-BY-4.0 \\\n      \
    --author \"Ada Lovelace\"\n  \
    tsql --at v1.0 publish s3://datasets/gemm --citation paper.bib\n  \
    tsql publish gemm --dry-run           # which tables, and how many rows\n  \
    tsql publish gemm --overwrite && tsql verify gemm")]
pub(super) struct Publish {
    /// Directory or URL to write to; it is made where it is missing
    #[arg(value_name = "DIR|URL")]
    to: String,
    /// What the dataset is called [default: the name of its folder]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What it is, in a sentence or a few [default: how many records of what]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its licence as SPDX names it: CC-BY-4.0, CC0-1.0, Apache-2.0, ...
    #[arg(long, value_name = "SPDX")]
    license: Option<String>,
    /// How to cite it: a file with BibTeX, or a text
    #[arg(long, value_name = "FILE|TEXT")]
    citation: Option<String>,
    /// Who made it; may be given several times
    #[arg(long = "author", value_name = "NAME")]
    authors: Vec<String>,
    /// Its page
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Its version, like 1.0.0 [default: the tag of --at]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The day of publication [default: the day of the newest data]
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// Replace a publication that is there already
    #[arg(long)]
    overwrite: bool,
    /// Only say which tables would be published, and how many rows
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &Place, command: Publish) -> Result<u8, Failure> {
    let (to, output, dry_run) = (command.to.clone(), command.output.clone(), command.dry_run);
    let store = place.open().await?;
    let mut options = options(place, command)?;
    let bar = std::io::stderr().is_terminal().then(|| bar::spinner(STYLE));
    if let Some(bar) = bar.clone() {
        options = options.progress(move |table, rows, bytes| {
            bar.set_position(rows);
            bar.set_message(format!("rows of {table}"));
            bar.set_prefix(HumanBytes(bytes).to_string());
        });
    }
    let published = store.publish(&to, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let published = published?;
    shown(&published, &output, dry_run).await?;
    if dry_run {
        talk(&format!(
            "{} would be published",
            counted(published.tables.len() as u64, "table")
        ));
        return Ok(DONE);
    }
    let files = counted(published.file_count, "file");
    talk(&format!(
        "published {files} of {} to {to}",
        HumanBytes(published.bytes)
    ));
    if options.license.is_none() {
        talk("hint: without --license nobody knows what they may do with it");
    }
    Ok(DONE)
}

fn options(place: &Place, command: Publish) -> Result<PublishOptions, Failure> {
    let citation = command.citation.map(|text| {
        if Path::new(&text).is_file() {
            std::fs::read_to_string(&text).map_err(Error::io(text))
        } else {
            Ok(text)
        }
    });
    Ok(PublishOptions {
        title: command.title,
        description: command.description,
        license: command.license,
        citation: citation.transpose()?,
        authors: command.authors,
        url: command.url,
        version: command.version.or_else(|| place.tag()),
        date: command.date,
        overwrite: command.overwrite,
        dry_run: command.dry_run,
        memory_limit_bytes: place.memory_limit_bytes(),
        progress: None,
    })
}

async fn shown(published: &Published, output: &Output, dry_run: bool) -> Result<(), Failure> {
    let tables = published.tables.iter();
    let names = StringArray::from_iter_values(tables.clone().map(|table| table.name.as_str()));
    let number = |of: fn(&PublishedTable) -> u64| -> ArrayRef {
        let numbers = tables.clone().map(|table| of(table).cast_signed());
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("table", Arc::new(names)),
        ("rows", number(|table| table.rows)),
    ];
    if !dry_run {
        columns.push(("files", number(|table| table.file_count)));
        columns.push(("bytes", number(|table| table.bytes)));
    }
    show(columns, output).await.map(|_| ())
}

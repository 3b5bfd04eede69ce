//! `tsql publish`: writes the store as a dataset that other tools read.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;
use indicatif::HumanBytes;
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_error::Error;
use tsql_ml::publish::publish;
use tsql_ml::publish::{PublishOptions, Published, PublishedTable};

use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::progress_bar;
use super::stderr::{count_noun, print_message, shows_progress};
use super::store_options::StoreOptions;

/// Template of the progress bar.
const STYLE: &str = "{spinner} {human_pos} {msg}, {per_sec}, {prefix} written, {elapsed}";

/// Write the store as a dataset that other tools read
///
/// Plain Parquet, with a folder per table and view; a dataset card (README.md) with counts by platform, operator and
/// error; Croissant metadata (croissant.json); checksums (SHA256SUMS). `pyarrow`, pandas, DuckDB, `datasets` and
/// `mlcroissant` read it. Publishing the same version twice writes the same bytes.
///
/// Not published: tags, the ingest log with its local paths, and text that only serves to export files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql publish gemm --title \"GEMM on two GPUs\" --license CC-BY-4.0 \\\n      \
    --author \"Ada Lovelace\"\n  \
    tsql --at v1.0 publish s3://datasets/gemm --citation refs.bib\n  \
    tsql publish gemm --dry-run           # tables and rows\n  \
    tsql publish gemm --overwrite && tsql verify gemm")]
pub(super) struct Publish {
    /// Folder or URL to write to; a missing folder is created
    #[arg(value_name = "DIR|URL")]
    to: String,
    /// Name of the dataset [default: the name of the folder]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Description in a few sentences [default: the number of records, graphs and platforms]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// License, as an SPDX identifier: CC-BY-4.0, CC0-1.0, Apache-2.0, ...
    #[arg(long, value_name = "SPDX")]
    license: Option<String>,
    /// Citation: a BibTeX file, or text
    #[arg(long, value_name = "FILE|TEXT")]
    citation: Option<String>,
    /// Author; repeatable
    #[arg(long = "author", value_name = "NAME")]
    authors: Vec<String>,
    /// Web page of the dataset
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Version of the dataset, such as 1.0.0 [default: the tag of --at]
    #[arg(long = "dataset-version", alias = "version", value_name = "VERSION")]
    version: Option<String>,
    /// Date of publication [default: the date of the newest data]
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
    /// Replace an existing publication
    #[arg(long)]
    overwrite: bool,
    /// List the tables and rows that would be published, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: Publish) -> Result<u8, Failure> {
    let (to, output, dry_run) = (command.to.clone(), command.output.clone(), command.dry_run);
    let store = place.open().await?;
    let has_license = command.license.is_some();
    let mut options = options(place, command)?;
    let bar = shows_progress().then(|| progress_bar::spinner(STYLE));
    if let Some(bar) = bar.clone() {
        options = options.progress(move |table, rows, bytes| {
            bar.set_position(rows);
            bar.set_message(format!("rows of {table}"));
            bar.set_prefix(HumanBytes(bytes).to_string());
        });
    }
    let published = publish(&store, &to, &options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let published = published?;
    show_tables(&published, &output, dry_run).await?;
    if dry_run {
        print_message(&format!(
            "{} would be published",
            count_noun(published.tables.len() as u64, "table")
        ));
        return Ok(DONE);
    }
    let files = count_noun(published.file_count, "file");
    print_message(&format!(
        "published {files} of {} to {to}",
        HumanBytes(published.bytes)
    ));
    if !has_license {
        print_message("hint: --license states how others may use the data");
    }
    Ok(DONE)
}

fn options(place: &StoreOptions, command: Publish) -> Result<PublishOptions, Failure> {
    let citation = command.citation.map(|text| {
        if Path::new(&text).is_file() {
            std::fs::read_to_string(&text).map_err(Error::io(text))
        } else {
            Ok(text)
        }
    });
    let options = PublishOptions::default()
        .overwrite(command.overwrite)
        .dry_run(command.dry_run)
        .set_if(command.title, PublishOptions::title)
        .set_if(command.description, PublishOptions::description)
        .set_if(command.license, PublishOptions::license)
        .set_if(citation.transpose()?, PublishOptions::citation)
        .set_if(command.url, PublishOptions::url)
        .set_if(
            command.version.or_else(|| place.tag()),
            PublishOptions::version,
        )
        .set_if(command.date, PublishOptions::date)
        .set_if(
            place.memory_limit_bytes(),
            PublishOptions::memory_limit_bytes,
        );
    let authors = command.authors.into_iter();
    Ok(authors.fold(options, PublishOptions::author))
}

async fn show_tables(published: &Published, output: &Output, dry_run: bool) -> Result<(), Failure> {
    let tables = published.tables.iter();
    let names = StringArray::from_iter_values(tables.clone().map(|table| table.name.as_str()));
    let number = |get: fn(&PublishedTable) -> u64| -> ArrayRef {
        let numbers = tables.clone().map(|table| get(table).cast_signed());
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

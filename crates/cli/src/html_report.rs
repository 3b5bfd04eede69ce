//! `tsql report html`: an HTML report of a store.

use std::path::PathBuf;

use clap::Args;
use tsql_server::html_report::html_report;
use tsql_store::Store;
use tsql_store::atomic_output::check_output;

use super::outcome::{DONE, Failure};
use super::plot::write;
use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Write the store as an HTML report: content, quality, plots, tables and graphs
///
/// One file, which a browser opens without a network: plots with values under the pointer and series that a click
/// hides, sortable and searchable tables, and the query of each. It also fits phones and printed pages.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql report html -o store.html\n  \
    tsql report html -o store.html --name \"tuning, November\" --at v1.0")]
pub(super) struct Page {
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Title of the report [default: the name of the store's folder]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(super) async fn run(place: &StoreOptions, command: Page) -> Result<u8, Failure> {
    check_output(&command.output)?;
    let store = place.open().await?;
    let name = title(place, &store, command.name);
    let html = html_report(&store, &name).await?;
    write(&command.output, html.as_bytes())?;
    let kib = html.len().div_ceil(1024);
    print_message(&format!("wrote {} ({kib} KiB)", command.output.display()));
    Ok(DONE)
}

/// Returns the title of a report.
pub(super) fn title(place: &StoreOptions, store: &Store, requested: Option<String>) -> String {
    match requested {
        Some(name) => name,
        None if place.is_sample() => "the sample".to_owned(),
        None => folder_name(store.location().as_str()),
    }
}

/// Returns the name of the store's folder, or of its parent for `.tsql`.
fn folder_name(location: &str) -> String {
    let parts = location.trim_end_matches('/').rsplit(['/', '\\']);
    let mut named = parts.filter(|part| !part.is_empty() && !part.starts_with('.'));
    match named.next() {
        Some(name) => name.split(['?', '#']).next().unwrap_or(name).to_owned(),
        None => std::env::current_dir()
            .ok()
            .and_then(|folder| {
                folder
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned())
            })
            .unwrap_or_else(|| "store".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_called_by_its_folder() {
        assert_eq!(folder_name("/data/tuning/.tsql"), "tuning");
        assert_eq!(folder_name("logs/november/"), "november");
        assert_eq!(folder_name("s3://bucket/stores/k80?region=x"), "k80");
    }
}

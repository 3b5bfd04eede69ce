//! `tsql page`: a page for a store.

use std::path::PathBuf;

use clap::Args;

use super::outcome::{DONE, Failure};
use super::place::Place;
use super::plot::write;
use super::talk::talk;
use crate::store::Store;

/// Write a page that shows the store: what is in it, how good it is, pictures, tables and graphs
///
/// One file that a browser opens without a network: pictures that say what is below the pointer, names that are hidden by a
/// click, tables that sort and search, and below each the query that made it. It is right on a phone and printed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql page -o store.html\n  \
    tsql page -o store.html --name \"tuning, November\" --at v1.0")]
pub(super) struct Page {
    /// The file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What the store is called there [default: the name of its folder]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(super) async fn run(place: &Place, command: Page) -> Result<u8, Failure> {
    let store = place.open().await?;
    let name = named(place, &store, command.name);
    let html = store.page(&name).await?;
    write(&command.output, html.as_bytes())?;
    let kib = html.len().div_ceil(1024);
    talk(&format!("wrote {} ({kib} KiB)", command.output.display()));
    Ok(DONE)
}

/// What a store is called on a page.
pub(super) fn named(place: &Place, store: &Store, given: Option<String>) -> String {
    match given {
        Some(name) => name,
        None if place.is_sample() => "the sample".to_owned(),
        None => called(store.location().as_str()),
    }
}

/// The name of the store's folder; of one in `.tsql` that of the folder around.
fn called(location: &str) -> String {
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
        assert_eq!(called("/data/tuning/.tsql"), "tuning");
        assert_eq!(called("logs/november/"), "november");
        assert_eq!(called("s3://bucket/stores/k80?region=x"), "k80");
    }
}

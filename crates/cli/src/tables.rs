//! `tsql tables`: the tables and views of the store.

use std::io::IsTerminal as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;
use tsql_schema as schema;

use super::note::print_notes;
use super::outcome::Failure;
use super::output::{Output, show};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// List the tables with rows, and the views
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql tables\n  tsql tables --all --format markdown")]
pub(super) struct Tables {
    /// List empty tables too, with full descriptions
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: Output,
}

/// A table or view of the list; a view has no sizes.
struct Entry {
    name: &'static str,
    doc: &'static str,
    size: Option<Size>,
}

struct Size {
    rows: i64,
    files: i64,
    bytes: i64,
}

pub(super) async fn run(place: &StoreOptions, command: Tables) -> Result<u8, Failure> {
    let store = place.open().await?;
    let mut entries = Vec::new();
    for table in schema::tables()? {
        let snapshot = store.snapshot(&table.name).await?;
        let files = snapshot
            .as_ref()
            .map(|snapshot| snapshot.files().as_slice())
            .unwrap_or_default();
        let rows = files
            .iter()
            .map(|file| file.stats.num_records.cast_signed());
        let bytes = files.iter().map(|file| file.size_bytes.cast_signed());
        entries.push(Entry {
            name: table.sql_name(),
            doc: &table.doc,
            size: Some(Size {
                rows: rows.sum(),
                files: i64::try_from(files.len()).unwrap_or(i64::MAX),
                bytes: bytes.sum(),
            }),
        });
    }
    entries.extend(schema::views()?.iter().map(|view| Entry {
        name: &view.name,
        doc: &view.doc,
        size: None,
    }));
    entries.sort_by_key(|entry| schema::list_order(entry.name));
    let all = entries.len();
    if !command.all {
        let is_empty = |entry: &Entry| entry.size.as_ref().is_some_and(|size| size.rows == 0);
        entries.retain(|entry| !is_empty(entry));
    }
    let numbers = |number: fn(&Size) -> i64| -> ArrayRef {
        let numbers = entries.iter().map(|entry| entry.size.as_ref().map(number));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let names = entries.iter().map(|entry| entry.name);
    let docs = entries.iter().map(|entry| match command.all {
        true => entry.doc,
        false => first_sentence(entry.doc),
    });
    let columns: [(&str, ArrayRef); 5] = [
        ("table", Arc::new(StringArray::from_iter_values(names))),
        ("rows", numbers(|size| size.rows)),
        ("files", numbers(|size| size.files)),
        ("bytes", numbers(|size| size.bytes)),
        ("doc", Arc::new(StringArray::from_iter_values(docs))),
    ];
    let code = show(columns, &command.output).await?;
    if entries.len() < all && std::io::stdout().is_terminal() {
        let empty = count_noun(
            u64::try_from(all - entries.len()).unwrap_or(u64::MAX),
            "empty table",
        );
        print_message(&format!("note: {empty} left out; --all lists them"));
    }
    print_notes(&store, &[], &command.output).await;
    Ok(code)
}

fn first_sentence(doc: &str) -> &str {
    doc.split_inclusive(['.', ':', ';'])
        .next()
        .unwrap_or(doc)
        .trim_end_matches(['.', ':', ';'])
}

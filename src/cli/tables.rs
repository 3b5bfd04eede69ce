//! `tsql tables`: what the store holds.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use clap::Args;

use super::note::tell_notes;
use super::outcome::Failure;
use super::output::{Output, show};
use super::place::Place;
use crate::schema;

/// List the tables with their rows, files and bytes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tsql tables --format markdown")]
pub(super) struct Tables {
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &Place, command: Tables) -> Result<u8, Failure> {
    let store = place.open().await?;
    let (mut names, mut docs) = (Vec::new(), Vec::new());
    let (mut rows, mut files, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for table in schema::tables()? {
        let snapshot = store.snapshot(&table.name).await?;
        let list = snapshot
            .as_ref()
            .map(|snapshot| snapshot.files().as_slice());
        let list = list.unwrap_or_default();
        names.push(table.name.as_str());
        docs.push(table.doc.as_str());
        rows.push(
            list.iter()
                .map(|file| file.stats.num_records.cast_signed())
                .sum::<i64>(),
        );
        files.push(i64::try_from(list.len()).unwrap_or(i64::MAX));
        bytes.push(
            list.iter()
                .map(|file| file.size_bytes.cast_signed())
                .sum::<i64>(),
        );
    }
    let views = schema::views()?;
    let nothing = || std::iter::repeat_n(None, views.len());
    names.extend(views.iter().map(|view| view.name.as_str()));
    docs.extend(views.iter().map(|view| view.doc.as_str()));
    let with_views = |own: Vec<i64>| -> ArrayRef {
        let own = own.into_iter().map(Some).chain(nothing());
        Arc::new(own.collect::<Int64Array>())
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("table", Arc::new(StringArray::from(names))),
        ("rows", with_views(rows)),
        ("files", with_views(files)),
        ("bytes", with_views(bytes)),
        ("doc", Arc::new(StringArray::from(docs))),
    ];
    let code = show(columns, &command.output).await?;
    tell_notes(&store, &[], &command.output).await;
    Ok(code)
}

//! `tsql tag`: names for versions of the whole store.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use clap::{Args, Subcommand};

use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::place::Place;
use super::talk::{counted, talk};

/// Give the store as it is a name, for `--at` and for ever
///
/// A tag names one version of every table, which belong together. What it names stays: `tsql vacuum` leaves its files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql tag create v1.0 --note \"the dataset of the paper\"\n  \
    tsql --at records@12 tag create before-the-broken-night\n  \
    tsql --at v1.0 \"SELECT platform, count(*) FROM records GROUP BY platform\"\n  \
    tsql diff v1.0\n  \
    tsql tag list\n  \
    tsql tag delete v1.0")]
pub(super) struct Tag {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Name the newest versions of all tables, or those of `--at`
    Create(Create),
    /// List all tags, with the bytes of each and those that go with it
    List(List),
    /// Print the versions that a tag names
    Show(Show),
    /// Take a tag away
    Delete(Delete),
}

#[derive(Args, Debug)]
struct Create {
    /// Its name: letters, digits and . - _ + /
    name: String,
    /// What is to be known about it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Show {
    /// Name of the tag
    #[arg(add = super::known::tags())]
    name: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Delete {
    /// Name of the tag
    #[arg(add = super::known::tags())]
    name: String,
}

pub(super) async fn run(place: &Place, command: Tag) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            let tag = store
                .create_tag(&create.name, create.note.as_deref())
                .await?;
            let tables = counted(tag.versions.len() as u64, "table");
            talk(&format!("{} names the versions of {tables}", tag.name));
            Ok(DONE)
        }
        Action::List(list) => {
            let tags = store.tags().await?;
            let held = store.held(&tags).await?;
            let bytes = |of: fn(&crate::store::Held) -> u64| -> ArrayRef {
                let of_tags = held.iter().map(|held| held.as_ref().map(of));
                Arc::new(Int64Array::from_iter(
                    of_tags.map(|bytes| bytes.map(u64::cast_signed)),
                ))
            };
            let names = tags.iter().map(|tag| tag.name.as_str());
            let times = tags.iter().map(|tag| tag.created_at_us);
            let times = TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC");
            let notes = tags.iter().map(|tag| tag.note.as_deref());
            let columns: [(&str, ArrayRef); 5] = [
                ("name", Arc::new(StringArray::from_iter_values(names))),
                ("created_at", Arc::new(times)),
                ("bytes", bytes(|held| held.bytes)),
                ("own_bytes", bytes(|held| held.own_bytes)),
                ("note", Arc::new(StringArray::from_iter(notes))),
            ];
            show(columns, &list.output).await
        }
        Action::Show(command) => {
            let tag = store.tag(&command.name).await?;
            let tables = tag.versions.keys().map(String::as_str);
            let versions = tag.versions.values().map(|version| version.cast_signed());
            let columns: [(&str, ArrayRef); 2] = [
                ("table", Arc::new(StringArray::from_iter_values(tables))),
                ("version", Arc::new(Int64Array::from_iter_values(versions))),
            ];
            show(columns, &command.output).await
        }
        Action::Delete(delete) => {
            store.delete_tag(&delete.name).await?;
            talk(&format!("{} is no tag any more", delete.name));
            Ok(DONE)
        }
    }
}

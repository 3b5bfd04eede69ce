//! `tsql tag`: names for versions of the whole store.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use clap::{Args, Subcommand};

use super::deletion::Deletion;
use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Name a version of the store, permanently
///
/// A tag names one consistent version of all tables, for `--at`. `tsql vacuum` never deletes its files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql tag create v1.0 --note \"the published dataset\"\n  \
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
    /// Tag the newest version of the store, or the version of `--at`
    Create(Create),
    /// List all tags, with their bytes and the bytes that no other version needs
    List(List),
    /// Show the table versions of a tag
    Show(Show),
    /// Delete a tag; its data stays until `tsql vacuum`
    Delete(Delete),
}

#[derive(Args, Debug)]
struct Create {
    /// Name: alphanumeric characters and . - _ + /
    name: String,
    /// Note about the version
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
    #[arg(add = super::completion_values::tags())]
    name: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Delete {
    /// Name of the tag
    #[arg(add = super::completion_values::tags())]
    name: String,
    #[command(flatten)]
    deletion: Deletion,
}

pub(super) async fn run(place: &StoreOptions, command: Tag) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.action {
        Action::Create(create) => {
            let tag = store
                .create_tag(&create.name, create.note.as_deref())
                .await?;
            let tables = count_noun(tag.versions.len() as u64, "table");
            print_message(&format!("{} names the versions of {tables}", tag.name));
            Ok(DONE)
        }
        Action::List(list) => {
            let tags = store.tags().await?;
            let held = store.tag_files(&tags).await?;
            let bytes = |get: fn(&tsql_store::TagFiles) -> u64| -> ArrayRef {
                let sizes = held.iter().map(|held| held.as_ref().map(get));
                Arc::new(Int64Array::from_iter(
                    sizes.map(|bytes| bytes.map(u64::cast_signed)),
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
            store.tag(&delete.name).await?;
            let what = format!("the tag {}", delete.name);
            if delete.deletion.is_confirmed(&what)? {
                store.delete_tag(&delete.name).await?;
                print_message(&format!("deleted {what}"));
            }
            Ok(DONE)
        }
    }
}

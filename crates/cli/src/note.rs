//! `tsql note`: notes of people about records, sources and platforms.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use tsql_dataset::notes;
use tsql_dataset::notes::Subject;
use tsql_dataset::notes::{add_note, delete_note, list_notes, notes_on};
use tsql_error::{Error, Result as LibraryResult};
use tsql_store::Store;

use super::deletion::Deletion;
use super::outcome::{DONE, Failure};
use super::output::{Output, show};
use super::stderr::{count_noun, print_message};
use super::store_options::StoreOptions;

/// Maximum number of notes that other commands print.
const SHOWN: usize = 5;

/// Maximum number of characters of a printed note.
const SHOWN_CHARS: usize = 160;

/// Annotate records, files or a platform
///
/// A note is stored as rows of the table `notes`: one for each annotated file, or one for a platform. It joins
/// `records` and `sources` by source_id, or by platform. On a terminal, `tsql tables` and `tsql queries` print the
/// newest notes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql note create \"the fan was broken\" \\\n      \
    --where \"platform = 'k80' AND measured_at > '2026-11-21'\"\n  \
    tsql note create \"clocks were locked\" --source 'night-7/*' --author ann\n  \
    tsql note create \"shared with others\" --platform t4\n  \
    tsql note list --platform k80\n  \
    tsql \"SELECT DISTINCT note FROM notes JOIN sources USING (source_id)\n      \
    WHERE dataset = 'tenset'\"\n  \
    tsql note delete 3")]
pub(super) struct Note {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Create a note on existing records
    #[command(alias = "add")]
    Create(Add),
    /// List all notes, or the notes on some records, files or a platform
    List(List),
    /// Show one note
    Show(Show),
    /// Delete a note
    Delete(Delete),
}

/// Subject of a note.
#[derive(Args, Debug)]
#[group(multiple = false)]
struct About {
    /// SQL condition over `records`
    #[arg(long = "where", value_name = "SQL")]
    predicate: Option<String>,
    /// Files with this name, or whose names match this pattern (`*` and `?`)
    #[arg(long, value_name = "PATTERN")]
    source: Option<String>,
    /// All records of a platform
    #[arg(long, value_name = "NAME", add = super::completion_values::platforms())]
    platform: Option<String>,
}

impl About {
    fn subject(self) -> Option<Subject> {
        let records = self.predicate.map(Subject::Where);
        let sources = self.source.map(Subject::Source);
        records.or(sources).or(self.platform.map(Subject::Platform))
    }
}

#[derive(Args, Debug)]
struct Add {
    /// Text of the note
    #[arg(value_name = "TEXT")]
    note: String,
    #[command(flatten)]
    about: About,
    /// Author [default: $USER]
    #[arg(long, alias = "who", value_name = "NAME")]
    author: Option<String>,
}

#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    about: About,
    #[command(flatten)]
    output: Output,
}

#[derive(Args, Debug)]
struct Delete {
    /// Number of the note, from `tsql note list`
    #[arg(value_name = "NUMBER")]
    note_id: i64,
    #[command(flatten)]
    deletion: Deletion,
}

#[derive(Args, Debug)]
struct Show {
    /// Number of the note, from `tsql note list`
    #[arg(value_name = "NUMBER")]
    note_id: i64,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(place: &StoreOptions, command: Note) -> Result<u8, Failure> {
    let store = place.open().await?;
    match command.action {
        Action::Create(add) => {
            let author = add.author.or_else(|| std::env::var("USER").ok());
            let Some(about) = add.about.subject() else {
                let reason = "a note needs a subject\nhint: --where SQL, --source PATTERN or --platform NAME";
                return Err(Failure::Usage(reason.to_owned()));
            };
            let note = add_note(&store, &add.note, &about, author.as_deref()).await?;
            print_message(&format!(
                "note {} on {}, {}",
                note.note_id,
                note.subject_text(),
                count_noun(note.record_count(), "record")
            ));
            Ok(DONE)
        }
        Action::List(list) => {
            let notes = match list.about.subject() {
                Some(about) => notes_on(&store, &about).await?,
                None => list_notes(&store).await?,
            };
            show(columns(&notes), &list.output).await
        }
        Action::Delete(delete) => {
            let note = find(list_notes(&store).await?, delete.note_id)?;
            let what = format!("note {} on {}", note.note_id, note.subject_text());
            if delete.deletion.is_confirmed(&what)? {
                delete_note(&store, delete.note_id).await?;
                print_message(&format!("deleted {what}"));
            }
            Ok(DONE)
        }
        Action::Show(command) => {
            let note = find(list_notes(&store).await?, command.note_id)?;
            show(columns(&[note]), &command.output).await
        }
    }
}

fn find(notes: Vec<notes::Note>, note_id: i64) -> LibraryResult<notes::Note> {
    let known: Vec<String> = notes.iter().map(|note| note.note_id.to_string()).collect();
    let mut notes = notes.into_iter();
    notes
        .find(|note| note.note_id == note_id)
        .ok_or_else(|| Error::Unknown {
            kind: "note",
            name: note_id.to_string(),
            known: match known.is_empty() {
                true => "none yet".to_owned(),
                false => known.join(", "),
            },
        })
}

fn columns(notes: &[notes::Note]) -> [(&'static str, ArrayRef); 7] {
    let number = |get: fn(&notes::Note) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(notes.iter().map(get)))
    };
    let times = notes.iter().map(|note| note.noted_at_us);
    let times = TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC");
    let authors = notes.iter().map(|note| note.author.as_deref());
    let about = notes.iter().map(notes::Note::subject_text);
    let texts = notes.iter().map(|note| note.note.as_str());
    let sources = |note: &notes::Note| {
        let sources = note
            .targets
            .iter()
            .filter(|target| target.source_id.is_some());
        i64::try_from(sources.count()).unwrap_or(i64::MAX)
    };
    [
        ("note_id", number(|note| note.note_id)),
        ("noted_at", Arc::new(times)),
        ("author", Arc::new(StringArray::from_iter(authors))),
        ("subject", Arc::new(StringArray::from_iter_values(about))),
        ("sources", number(sources)),
        ("records", number(|note| note.record_count().cast_signed())),
        ("note", Arc::new(StringArray::from_iter_values(texts))),
    ]
}

/// Prints the newest notes about these platforms, or about all, with a table on a terminal. Errors are ignored, because
/// the result itself has succeeded.
pub(super) async fn print_notes(store: &Store, platforms: &[String], output: &Output) {
    if !output.is_table() {
        return;
    }
    let Ok(notes) = notes_about(store, platforms).await else {
        return;
    };
    for note in notes.iter().rev().take(SHOWN) {
        print_message(&one_line(note));
    }
    let more = notes.len().saturating_sub(SHOWN);
    if more > 0 {
        print_message(&format!(
            "... and {} more: `tsql note list`",
            count_noun(more as u64, "note")
        ));
    }
}

async fn notes_about(store: &Store, platforms: &[String]) -> LibraryResult<Vec<notes::Note>> {
    let mut notes = list_notes(store).await?;
    notes.retain(|note| {
        let mut note_platforms = note
            .targets
            .iter()
            .filter_map(|target| target.platform.as_ref());
        platforms.is_empty() || note_platforms.any(|platform| platforms.contains(platform))
    });
    Ok(notes)
}

/// Formats a note on one line.
fn one_line(note: &notes::Note) -> String {
    let mut text: String = note.note.chars().take(SHOWN_CHARS).collect();
    if text.len() < note.note.len() {
        text.push_str("...");
    }
    let day = DateTime::<Utc>::from_timestamp_micros(note.noted_at_us);
    let day = day.map(|day| day.format("%Y-%m-%d").to_string());
    let by: Vec<String> = note.author.iter().cloned().chain(day).collect();
    format!(
        "note {} on {}: {text} ({})",
        note.note_id,
        note.subject_text(),
        by.join(", ")
    )
}

//! Notes of people about records, sources and platforms, stored as rows.
//!
//! The targets of a note are resolved when it is created: the sources with such records, or a platform. Later sources
//! are not included, so results do not change by themselves.

mod subject;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::prelude::{col, lit};
use serde::Serialize;
use tsql_adapters::dedupe::write_single_file;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_schema::column::arrays::{Columns, int64_array, repeat_text};
use tsql_session::open_session;
use tsql_store::{Snapshot, Store};

use subject::{join_names, targets};

pub use subject::{NoteTarget, Subject};

/// Table of the notes.
const NOTES: &str = "notes";

/// Maximum length of a note in characters.
const LONGEST: usize = 10_000;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// Id.
    pub note_id: i64,
    /// Text.
    pub note: String,
    /// Author.
    pub author: Option<String>,
    /// Creation time in microseconds since 1970.
    pub noted_at_us: i64,
    /// SQL over `records` that selected its targets.
    pub predicate: Option<String>,
    /// Its targets; never empty.
    pub targets: Vec<NoteTarget>,
}

impl Note {
    /// Returns the number of records at the time of creation.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.targets.iter().map(|target| target.record_count).sum()
    }

    /// Returns whether both have the same text, targets and author.
    fn is_same(&self, other: &Self) -> bool {
        let targets = |note: &Self| {
            let targets = note.targets.iter().map(|target| {
                let platform = match target.source_id {
                    Some(_) => None,
                    None => target.platform.clone(),
                };
                (target.source_id, platform, target.record_count)
            });
            let mut targets: Vec<_> = targets.collect();
            targets.sort();
            targets
        };
        let said = |note: &Self| {
            let Self {
                note,
                author,
                predicate,
                ..
            } = note;
            (note.clone(), author.clone(), predicate.clone())
        };
        said(self) == said(other) && targets(self) == targets(other)
    }

    /// Describes its targets: `platform k80`, `3 sources`.
    #[must_use]
    pub fn subject_text(&self) -> String {
        let name = |target: &NoteTarget| match (&target.source, &target.platform) {
            (Some(name), _) => name.clone(),
            (None, Some(platform)) => format!("platform {platform}"),
            (None, None) => "a removed source".to_owned(),
        };
        match (self.targets.as_slice(), &self.predicate) {
            ([one], None) => name(one),
            ([one], Some(predicate)) => format!("{} where {predicate}", name(one)),
            (more, None) => format!("{} sources", more.len()),
            (more, Some(predicate)) => format!("{} sources where {predicate}", more.len()),
        }
    }
}

/// Adds a note about records, sources or a platform. It applies to the sources that have such records now. `author` is
/// the author. If the same note about the same records exists, returns that one.
///
/// # Errors
/// [`Error::Argument`] for an empty or too long text, and if no record is selected. [`Error::Unknown`] for an
/// unknown source or platform. [`Error::Query`] for an invalid predicate. [`Error::ReadOnly`] for a store at a
/// point in history, and failures of the storage.
pub async fn add_note(
    store: &Store,
    text: &str,
    about: &Subject,
    author: Option<&str>,
) -> Result<Note> {
    store.check_writable()?;
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST {
        let reason = format!("a note needs a text of at most {LONGEST} characters");
        return Err(argument("note", reason));
    }
    let mut note = Note {
        note_id: 0,
        note: text.to_owned(),
        author: author
            .map(str::trim)
            .filter(|author| !author.is_empty())
            .map(str::to_owned),
        noted_at_us: chrono::Utc::now().timestamp_micros(),
        predicate: match about {
            Subject::Where(predicate) => Some(predicate.trim().to_owned()),
            Subject::Source(_) | Subject::Platform(_) => None,
        },
        targets: targets(store, about).await?,
    };
    store
        .commit(NOTES, "note", async |snapshot: &Snapshot| {
            // A process that was killed after its commit repeats the same note.
            let known = list_notes(store).await?;
            if let Some(known) = known.into_iter().find(|known| known.is_same(&note)) {
                note = known;
                return Ok(None);
            }
            // The id is the version of the commit, so no id is reused after deletions.
            note.note_id = snapshot.version().cast_signed() + 1;
            write_single_file(store, NOTES, columns(&note))
                .await
                .map(Some)
        })
        .await?;
    Ok(note)
}

/// Returns all notes, oldest first.
///
/// # Errors
/// Failures of the storage.
pub async fn list_notes(store: &Store) -> Result<Vec<Note>> {
    let there = store.snapshot(NOTES).await?;
    if there.is_none_or(|snapshot| snapshot.files().is_empty()) {
        return Ok(Vec::new());
    }
    let sql = "SELECT n.note_id, n.note, n.who, n.noted_at, n.predicate, n.source_id, n.record_count, \
        f.name, coalesce(n.platform, f.platform) AS platform \
        FROM stored.notes AS n LEFT JOIN sources AS f ON f.source_id = n.source_id \
        ORDER BY n.note_id, n.target";
    let mut notes: Vec<Note> = Vec::new();
    for batch in collect(&open_session(store).await?, sql).await? {
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let text = |name| column::text(&batch, name);
        let (ids, sources, counts) = (
            number("note_id")?,
            number("source_id")?,
            number("record_count")?,
        );
        let (texts, authors, predicates) = (text("note")?, text("who")?, text("predicate")?);
        let (names, platforms) = (text("name")?, text("platform")?);
        let times = column::numbers::<TimestampMicrosecondType>(&batch, "noted_at")?;
        for row in 0..batch.num_rows() {
            let own = |column| column::text_at(column, row).map(str::to_owned);
            let target = NoteTarget {
                source_id: column::value(sources, row),
                source: own(names),
                platform: own(platforms),
                record_count: counts.value(row).unsigned_abs(),
            };
            match notes
                .last_mut()
                .filter(|note| note.note_id == ids.value(row))
            {
                Some(note) => note.targets.push(target),
                None => notes.push(Note {
                    note_id: ids.value(row),
                    note: texts.value(row).to_owned(),
                    author: own(authors),
                    noted_at_us: times.value(row),
                    predicate: own(predicates),
                    targets: vec![target],
                }),
            }
        }
    }
    Ok(notes)
}

/// Returns the notes that apply to any of these records, to one of these sources, or to this platform. Notes about
/// a platform apply to its sources as well.
///
/// # Errors
/// As [`add_note`].
pub async fn notes_on(store: &Store, about: &Subject) -> Result<Vec<Note>> {
    let meant = targets(store, about).await?;
    let mut notes = list_notes(store).await?;
    notes.retain(|note| {
        let mut targets = note.targets.iter();
        targets.any(|target| meant.iter().any(|meant| target.overlaps(meant)))
    });
    Ok(notes)
}

/// Deletes a note.
///
/// # Errors
/// [`Error::Unknown`] if there is no note with this id.
pub async fn delete_note(store: &Store, note_id: i64) -> Result<()> {
    store.check_writable()?;
    let detail = format!("delete note {note_id}");
    let own = col("note_id").eq(lit(note_id));
    let taken = store.delete_rows(NOTES, &detail, async |_| Ok(Some(own.clone())));
    if taken.await? > 0 {
        return Ok(());
    }
    let known: Vec<String> = list_notes(store)
        .await?
        .iter()
        .map(|note| note.note_id.to_string())
        .collect();
    Err(Error::Unknown {
        kind: "note",
        name: note_id.to_string(),
        known: join_names(known),
    })
}

/// Returns the rows of a note.
fn columns(note: &Note) -> Columns {
    let targets = &note.targets;
    let count = targets.len();
    let maybe = |text: Option<&str>| -> ArrayRef {
        Arc::new(StringArray::from_iter(std::iter::repeat_n(text, count)))
    };
    let numbers = (1..).take(count);
    let platforms = targets.iter().map(|target| match target.source_id {
        Some(_) => None,
        None => target.platform.as_deref(),
    });
    let sources = targets.iter().map(|target| target.source_id);
    let counts = targets
        .iter()
        .map(|target| target.record_count.cast_signed());
    let times = TimestampMicrosecondArray::from(vec![note.noted_at_us; count]).with_timezone("UTC");
    Columns::from([
        (
            "note_id",
            int64_array(std::iter::repeat_n(note.note_id, count)),
        ),
        (
            "target",
            Arc::new(Int32Array::from_iter_values(numbers)) as ArrayRef,
        ),
        ("note", repeat_text(&note.note, count)),
        ("who", maybe(note.author.as_deref())),
        ("noted_at", Arc::new(times)),
        ("predicate", maybe(note.predicate.as_deref())),
        ("platform", Arc::new(StringArray::from_iter(platforms))),
        ("source_id", Arc::new(Int64Array::from_iter(sources))),
        ("record_count", int64_array(counts)),
        (
            "tsql_version",
            repeat_text(env!("CARGO_PKG_VERSION"), count),
        ),
    ])
}

fn argument(name: &'static str, reason: String) -> Error {
    Error::Argument { name, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::create_demo;

    #[tokio::test]
    async fn a_note_created_twice_is_one_note() {
        let store = create_demo().await.unwrap();
        let about = |sql: &str| Subject::Where(sql.to_owned());
        let slow = about("runtime_ns > 1e6");
        let first = add_note(&store, "hot", &slow, Some("ann")).await.unwrap();
        let again = add_note(&store, " hot ", &slow, Some("ann")).await.unwrap();
        assert_eq!(
            (again.note_id, again.noted_at_us),
            (first.note_id, first.noted_at_us)
        );
        let mut others = vec![
            add_note(&store, "cold", &slow, Some("ann")).await.unwrap(),
            add_note(&store, "hot", &slow, None).await.unwrap(),
            add_note(&store, "hot", &about("runtime_ns > 2e6"), Some("ann"))
                .await
                .unwrap(),
        ];
        let platform = first.targets[0].platform.clone().unwrap();
        let all = Subject::Platform(platform);
        others.push(add_note(&store, "hot", &all, Some("ann")).await.unwrap());
        assert_eq!(
            add_note(&store, "hot", &all, Some("ann")).await.unwrap(),
            others[3]
        );
        assert_eq!(list_notes(&store).await.unwrap().len(), 5);
        delete_note(&store, first.note_id).await.unwrap();
        let new = add_note(&store, "hot", &slow, Some("ann")).await.unwrap();
        assert!(new.note_id > others[3].note_id);
    }
}

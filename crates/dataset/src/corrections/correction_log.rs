//! The table `corrections`: running and finished corrections.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use datafusion::prelude::{col, lit};
use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::column;
use tsql_store::file::Effort;
use tsql_store::{CORRECTIONS, Change, RewriteCache, Snapshot, Store, file};

use super::options::{CorrectionKind, CorrectionOptions, CorrectionReport};

/// A row of `corrections`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Correction {
    /// Its id.
    pub correction_id: String,
    /// Type of the correction.
    pub kind: CorrectionKind,
    /// Author.
    pub author: String,
    /// Reason.
    pub why: Option<String>,
    /// Start time in microseconds since 1970.
    pub started_at_us: i64,
    /// End time. `None` if it is running or was interrupted.
    pub finished_at_us: Option<i64>,
    /// Predicate of the selection.
    pub predicate: String,
    /// Labels that were set, one `platform=k80` per line.
    pub changes: Option<String>,
    /// Number of affected records.
    pub record_count: Option<u64>,
    /// Number of their sources.
    pub source_count: Option<u64>,
}

impl Correction {
    /// Creates a new correction.
    pub(super) fn new(
        kind: CorrectionKind,
        predicate: &str,
        changes: Option<String>,
        planned: &CorrectionReport,
        options: &CorrectionOptions,
    ) -> Self {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter();
        let mut user = user.filter_map(|name| std::env::var(name).ok());
        let user = || user.find(|user| !user.is_empty());
        let author = options.author.clone().or_else(user);
        Self {
            correction_id: name.chars().take(8).collect(),
            kind,
            author: author.unwrap_or_else(|| "unknown".to_owned()),
            why: options.why.clone(),
            started_at_us: chrono::Utc::now().timestamp_micros(),
            finished_at_us: None,
            predicate: predicate.to_owned(),
            changes,
            record_count: Some(planned.records),
            source_count: Some(planned.sources),
        }
    }

    /// Returns whether both have the same effect.
    fn is_same(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.kind, one.predicate.clone(), one.changes.clone());
        key(self) == key(other)
    }

    fn conflict_error(&self) -> Error {
        let time = chrono::DateTime::from_timestamp_micros(self.started_at_us).unwrap_or_default();
        let (author, kind) = (&self.author, self.kind.name());
        let changes = self.changes.iter().flat_map(|changes| changes.lines());
        let changes: String = changes.map(|change| format!(" --label {change}")).collect();
        Error::Refused(format!(
            "another correction is running or was interrupted: {author} began it at {}\n\
             hint: wait for it; if it was interrupted, `tsql {kind}{changes} --where \"{}\" --why \
             ...` finishes it",
            time.format("%Y-%m-%d %H:%M:%S"),
            self.predicate.replace('"', "\\\"")
        ))
    }
}

/// Returns all corrections, oldest first.
///
/// # Errors
/// Failures of the storage.
pub async fn list_corrections(store: &Store) -> Result<Vec<Correction>> {
    match store.snapshot(CORRECTIONS).await? {
        Some(snapshot) => read_corrections(store, &snapshot).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the same correction, if it is running or was interrupted.
pub(super) async fn find_unfinished(
    store: &Store,
    correction: &Correction,
) -> Result<Option<Correction>> {
    let known = list_corrections(store).await?.into_iter();
    let mut known = known.filter(|known| known.finished_at_us.is_none());
    Ok(known.find(|known| known.is_same(correction)))
}

/// Records the start of a correction. Returns the recorded correction, and whether it resumes an interrupted one.
///
/// # Errors
/// [`Error::Refused`] if another correction is running.
pub(super) async fn begin_correction(
    store: &Store,
    correction: Correction,
) -> Result<(Correction, bool)> {
    let mut begun = (correction.clone(), false);
    let detail = format!("{}: {}", correction.kind.name(), reason(&correction));
    store
        .commit(CORRECTIONS, &detail, async |snapshot: &Snapshot| {
            begun = (correction.clone(), false);
            let known = read_corrections(store, snapshot).await?.into_iter();
            let mut known = known.filter(|known| known.finished_at_us.is_none());
            if let Some(known) = known.next() {
                if !known.is_same(&correction) {
                    return Err(known.conflict_error());
                }
                begun = (known, true);
                return Ok(None);
            }
            let add = vec![write_correction(store, &correction).await?];
            Ok(Some(Change {
                add,
                ..Change::default()
            }))
        })
        .await?;
    Ok(begun)
}

/// Records the end of a correction. Removes the record if the correction had no effect.
pub(super) async fn finish_correction(
    store: &Store,
    begun: Correction,
    corrected: &CorrectionReport,
) -> Result<()> {
    let own = col("correction_id").eq(lit(begun.correction_id.as_str()));
    let detail = format!("{} {} is done", begun.kind.name(), begun.correction_id);
    let done = Correction {
        finished_at_us: Some(chrono::Utc::now().timestamp_micros()),
        record_count: Some(corrected.records),
        source_count: Some(corrected.sources),
        ..begun
    };
    let mut rests = RewriteCache::default();
    store
        .commit(CORRECTIONS, &detail, async |snapshot: &Snapshot| {
            let (rows, mut change) = store
                .plan_delete(CORRECTIONS, snapshot, &own, &mut rests)
                .await?;
            if rows > 0 && corrected.correction_id.is_some() {
                change.add.push(write_correction(store, &done).await?);
            }
            // Another process may have finished the same correction before.
            Ok((rows > 0).then_some(change))
        })
        .await
}

async fn write_correction(store: &Store, correction: &Correction) -> Result<file::DataFile> {
    let table = schema::table(CORRECTIONS)?;
    let batch = file::batch(table, columns(correction))?;
    file::write(store.location(), table, &[], &[batch], Effort::Ingest).await
}

async fn read_corrections(store: &Store, snapshot: &Snapshot) -> Result<Vec<Correction>> {
    let mut corrections = Vec::new();
    if snapshot.files().is_empty() {
        return Ok(corrections);
    }
    let names = schema::table(CORRECTIONS)?.file_schema();
    let names: Vec<&str> = names
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    for batch in store.read(CORRECTIONS, snapshot, &names, None).await? {
        for row in 0..batch.num_rows() {
            corrections.push(read_correction(&batch, row)?);
        }
    }
    corrections.sort_by_key(|one| one.started_at_us);
    Ok(corrections)
}

/// Returns the reason for the log.
fn reason(correction: &Correction) -> &str {
    correction.why.as_deref().unwrap_or(&correction.predicate)
}

fn columns(correction: &Correction) -> BTreeMap<&'static str, ArrayRef> {
    let text = |text: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let time = |time: Option<i64>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![time]).with_timezone("UTC"))
    };
    let number = |number: Option<u64>| -> ArrayRef {
        Arc::new(Int64Array::from(vec![number.map(u64::cast_signed)]))
    };
    BTreeMap::from([
        ("correction_id", text(Some(&correction.correction_id))),
        ("kind", text(Some(correction.kind.name()))),
        ("who", text(Some(&correction.author))),
        ("why", text(correction.why.as_deref())),
        ("made_at", time(Some(correction.started_at_us))),
        ("done_at", time(correction.finished_at_us)),
        ("predicate", text(Some(&correction.predicate))),
        ("changes", text(correction.changes.as_deref())),
        ("record_count", number(correction.record_count)),
        ("source_count", number(correction.source_count)),
        ("tsql_version", text(Some(env!("CARGO_PKG_VERSION")))),
    ])
}

fn read_correction(batch: &RecordBatch, row: usize) -> Result<Correction> {
    let text = |name| Ok::<_, Error>(column::text_at(column::text(batch, name)?, row));
    let own = |name| Ok::<_, Error>(text(name)?.map(str::to_owned));
    let time = |name| {
        let times = column::numbers::<TimestampMicrosecondType>(batch, name)?;
        Ok::<_, Error>(times.is_valid(row).then(|| times.value(row)))
    };
    let number = |name| {
        let numbers = column::numbers::<Int64Type>(batch, name)?;
        Ok::<_, Error>(column::value(numbers, row).map(i64::unsigned_abs))
    };
    let kind = text("kind")?.unwrap_or_default();
    let kind = CorrectionKind::ALL
        .into_iter()
        .find(|known| known.name() == kind);
    let kind = kind.ok_or_else(|| Error::damaged(CORRECTIONS, "a correction of no known kind"))?;
    Ok(Correction {
        correction_id: own("correction_id")?.unwrap_or_default(),
        kind,
        author: own("who")?.unwrap_or_default(),
        why: own("why")?,
        started_at_us: time("made_at")?.unwrap_or_default(),
        finished_at_us: time("done_at")?,
        predicate: own("predicate")?.unwrap_or_default(),
        changes: own("changes")?,
        record_count: number("record_count")?,
        source_count: number("source_count")?,
    })
}

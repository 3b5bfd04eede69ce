//! Duplicate sources: files stored twice, as two sources of a platform with identical bytes. Earlier
//! versions created them for compressed logs and their copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, new_null_array};
use arrow::datatypes::{Int32Type, Int64Type};
use tsql_adapters::formats::{ExportFormat, datasets};
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::file::Effort;
use tsql_store::{Change, Snapshot, Store, file};

use crate::ingest::orphans::OrphanRows;

/// SQL for the last segment of every log with rows of its own, grouped by content, oldest first.
fn logs_sql() -> String {
    format!(
        "WITH known AS ( \
           SELECT source_id, max(segment) AS segment, min(ingested_at) AS first \
           FROM stored.sources \
           WHERE dataset IN ({}) \
           GROUP BY source_id \
           HAVING sum(record_count + other_count) > 0 AND count(same_as) = 0 \
         ) \
         SELECT s.source_id, s.name, s.dataset, s.platform, s.content_hash, s.end_byte \
         FROM stored.sources AS s \
         JOIN known AS k ON k.source_id = s.source_id AND k.segment = s.segment \
         ORDER BY s.dataset, s.platform, s.content_hash, s.end_byte, k.first, s.name",
        datasets(ExportFormat::has_logs)
    )
}

/// A source with the same content as another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DuplicateSource {
    pub(crate) source_id: i64,
    pub(crate) name: String,
    pub(crate) platform: String,
    /// Identifier and name of the first source with this content.
    pub(crate) same_as: (i64, String),
}

/// Finds logs with the same bytes as another one of the same platform, whose records are stored twice.
pub(crate) async fn find_duplicates(store: &Store) -> Result<Vec<DuplicateSource>> {
    let context = open_session(store).await?;
    let mut twins = Vec::new();
    let mut first: Option<([String; 3], i64, (i64, String))> = None;
    for batch in collect(&context, &logs_sql()).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let sizes = column::numbers::<Int64Type>(&batch, "end_byte")?;
        let text = |name| column::text(&batch, name);
        let (names, datasets) = (text("name")?, text("dataset")?);
        let (platforms, hashes) = (text("platform")?, text("content_hash")?);
        for row in 0..batch.num_rows() {
            let key = [datasets, platforms, hashes].map(|column| column.value(row).to_owned());
            let one = (ids.value(row), names.value(row).to_owned());
            match &first {
                Some((known, size, same_as)) if *known == key && *size == sizes.value(row) => {
                    twins.push(DuplicateSource {
                        source_id: one.0,
                        name: one.1,
                        platform: platforms.value(row).to_owned(),
                        same_as: same_as.clone(),
                    });
                }
                _ => first = Some((key, sizes.value(row), one)),
            }
        }
    }
    Ok(twins)
}

/// Makes each source an alias of the first one with its content, and removes its rows.
///
/// # Errors
/// Failures of the storage. After an interruption between its commits, `remove_orphaned` removes the
/// remaining rows.
pub(crate) async fn merge_duplicates(store: &Store, twins: &[DuplicateSource]) -> Result<()> {
    let ids: BTreeMap<i64, i64> = twins
        .iter()
        .map(|twin| (twin.source_id, twin.same_as.0))
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut rows = OrphanRows::default();
    for id in ids.keys() {
        rows.add(*id, 0);
    }
    store
        .commit("sources", "mend", async |snapshot: &Snapshot| {
            alias_change(store, snapshot, &ids, &rows).await.map(Some)
        })
        .await?;
    for table in ["records", "retracted", "runs", "retracted_runs", "lines"] {
        if store.snapshot(table).await?.is_some() {
            let filter = rows.filter(table);
            store
                .delete_rows(table, "mend", async |_| Ok(Some(filter.clone())))
                .await?;
        }
    }
    Ok(())
}

/// Change of the ingest log that makes each of `ids` an alias of its mapped source.
async fn alias_change(
    store: &Store,
    snapshot: &Snapshot,
    ids: &BTreeMap<i64, i64>,
    rows: &OrphanRows,
) -> Result<Change> {
    let table = schema::table("sources")?;
    let columns = table.row_schema();
    let columns = columns.fields().iter();
    let columns: Vec<&str> = columns.map(|field| field.name().as_str()).collect();
    let mut change = Change::default();
    let mut last: BTreeMap<i64, (i32, RecordBatch)> = BTreeMap::new();
    for file in snapshot.files().iter() {
        let alone = snapshot.with_files(vec![file.clone()]);
        let own = store.read("sources", &alone, &columns, Some(rows.source_filter()));
        let own = own.await?;
        if own.iter().all(|batch| batch.num_rows() == 0) {
            continue;
        }
        for batch in own {
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let segments = column::numbers::<Int32Type>(&batch, "segment")?;
            for row in 0..batch.num_rows() {
                let (id, segment) = (sources.value(row), segments.value(row));
                if last.get(&id).is_none_or(|(known, _)| *known < segment) {
                    last.insert(id, (segment, batch.slice(row, 1)));
                }
            }
        }
        let others = Some(datafusion::prelude::not(rows.source_filter()));
        let others = store.read("sources", &alone, &columns, others).await?;
        let others = others.iter().map(|batch| file::fit_to_schema(table, batch));
        let others = others.collect::<Result<Vec<_>>>()?;
        if others.iter().any(|batch| batch.num_rows() > 0) {
            let location = store.location();
            let kept = file::write(location, table, &[], &others, Effort::Ingest).await?;
            change.add.push(kept);
        }
        change.remove.push(file.clone());
    }
    let mut aliases = Vec::with_capacity(last.len());
    for (id, (_, row)) in &last {
        let same_as = ids.get(id).copied().unwrap_or_default();
        aliases.push(file::fit_to_schema(table, &alias_row(row, same_as)?)?);
    }
    let location = store.location();
    let added = file::write(location, table, &[], &aliases, Effort::Ingest).await?;
    change.add.push(added);
    Ok(change)
}

/// Row of the ingest log that makes a source an alias of `same_as`.
fn alias_row(row: &RecordBatch, same_as: i64) -> Result<RecordBatch> {
    let schema = row.schema();
    let columns = schema.fields().iter().zip(row.columns());
    let columns = columns.map(|(field, column)| -> ArrayRef {
        match field.name().as_str() {
            "segment" => Arc::new(Int32Array::from(vec![0])),
            "same_as" => Arc::new(Int64Array::from(vec![same_as])),
            "first_line" => Arc::new(Int64Array::from(vec![1])),
            "first_byte" | "line_count" | "record_count" | "other_count" | "reject_count"
            | "verbatim_count" => Arc::new(Int64Array::from(vec![0])),
            "open_line" | "text_id" => new_null_array(field.data_type(), 1),
            _ => Arc::clone(column),
        }
    });
    RecordBatch::try_new(Arc::clone(&schema), columns.collect())
        .map_err(|error| Error::damaged("sources", error.to_string()))
}

#[cfg(test)]
mod tests {
    use crate::check::check;
    use crate::export::export;
    use crate::upkeep::orphans::find_orphaned;
    use std::path::Path;

    use super::*;

    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy(&entry.path(), &target);
            } else {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }

    /// `tests/stores/README.md` describes the store.
    #[tokio::test]
    async fn what_an_earlier_version_stored_twice_becomes_one() {
        let folder = tempfile::tempdir().unwrap();
        let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stores/doubled");
        copy(&old, folder.path());
        let store = Store::open(folder.path().to_str().unwrap()).await.unwrap();
        let twins = find_duplicates(&store).await.unwrap();
        let names = twins
            .iter()
            .map(|twin| (twin.name.as_str(), twin.same_as.1.as_str()));
        let names: Vec<_> = names.collect();
        assert_eq!(
            names,
            [
                ("logs/run.log.gz", "logs/run.log"),
                ("p/a.json.gz", "p/a.json")
            ]
        );
        merge_duplicates(&store, &twins).await.unwrap();
        assert_eq!(find_duplicates(&store).await.unwrap(), []);
        assert_eq!(find_orphaned(&store).await.unwrap(), []);
        let rows = |table: &'static str| {
            let store = store.clone();
            async move {
                let snapshot = store.snapshot(table).await.unwrap().unwrap();
                let files = snapshot.files().iter();
                files.map(|file| file.stats.num_records).sum::<u64>()
            }
        };
        let counts = [
            rows("records").await,
            rows("runs").await,
            rows("lines").await,
            rows("sources").await,
        ];
        assert_eq!(counts, [4 + 3 + 4, 4, 2, 5]);
        assert_eq!(check(&store).await.unwrap().damage, []);
        let outside = tempfile::tempdir().unwrap();
        let back = outside.path().join("back");
        let exported = export(&store, &back, &crate::export::ExportOptions::default()).await;
        let exported = exported.unwrap();
        assert_eq!((exported.files, exported.recompressed), (5, 2));
        assert!(exported.is_clean(), "{exported:?}");
    }
}

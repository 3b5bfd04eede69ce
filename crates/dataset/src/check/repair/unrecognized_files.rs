//! Files whose format was unknown, or detected wrongly, so that every line was rejected. Since they are stored, later
//! versions would not read them either.
//!
//! They are removed from the ingest log, then their lines from `lines`. After an interruption, these are lines of an
//! interrupted run. Sources from streams or standard input stay, because they cannot be read again.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::Int64Type;
use datafusion::prelude::{Expr, col, lit};
use futures::FutureExt as _;
use tsql_adapters::formats::line_datasets;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::Dialect;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::{Snapshot, Store};

use super::step::{RepairStep, no_commands};

/// Number of bytes of a file's text that are examined.
const HEAD_BYTES: u64 = 16 << 10;

pub(super) const STEP: RepairStep = RepairStep {
    description: "files in an unknown format whose lines were all rejected",
    effect: "removes them from the store, so that a version of tsql that knows the format can ingest them",
    is_damage: false,
    count: |store| count(store).boxed(),
    apply: |store| apply(store).boxed_local(),
    next_commands: no_commands,
};

/// Returns a query for source files of which every line was rejected.
fn rejected_sources_sql() -> String {
    format!(
        "SELECT source_id, max(dataset) AS dataset FROM stored.sources \
         WHERE dataset IN ({}) AND name NOT LIKE 'streams/%' AND path <> '-' \
         GROUP BY source_id \
         HAVING sum(line_count) > 0 AND sum(reject_count) = sum(line_count) AND count(same_as) = 0",
        line_datasets()
    )
}

async fn find(store: &Store) -> Result<HashSet<i64>> {
    let context = open_session(store).await?;
    let mut heads: HashMap<(i64, String), Vec<u8>> = HashMap::new();
    let sql = format!(
        "SELECT l.source_id, s.dataset, l.text FROM stored.lines AS l \
         JOIN ({}) AS s ON s.source_id = l.source_id WHERE l.line <= 64 \
         ORDER BY l.source_id, l.line, l.segment, l.part",
        rejected_sources_sql()
    );
    for batch in collect(&context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let datasets = column::text(&batch, "dataset")?;
        let texts = column::bytes(&batch, "text")?;
        for row in 0..batch.num_rows() {
            let file = (ids.value(row), datasets.value(row).to_owned());
            let head = heads.entry(file).or_default();
            if (head.len() as u64) < HEAD_BYTES {
                head.extend_from_slice(column::bytes_at(texts, row).unwrap_or_default());
                head.push(b'\n');
            }
        }
    }
    let unread = heads.into_iter().filter(|((_, dataset), head)| {
        Dialect::detect(head).is_none_or(|dialect| dialect.dataset() != dataset)
    });
    Ok(unread.map(|((id, _), _)| id).collect())
}

async fn count(store: &Store) -> Result<u64> {
    Ok(find(store).await?.len() as u64)
}

fn in_sources(ids: &HashSet<i64>) -> Expr {
    let ids = ids.iter().map(|id| lit(*id)).collect();
    col("source_id").in_list(ids, false)
}

async fn apply(store: &Store) -> Result<u64> {
    let found = find(store).await?;
    if found.is_empty() {
        return Ok(0);
    }
    let mut gone = HashSet::new();
    let detail = "mend: files of no known format";
    store
        .delete_rows("sources", detail, async |snapshot: &Snapshot| {
            gone = still_rejected(store, snapshot, &found).await?;
            let named = in_sources(&gone)
                .or(col("same_as").in_list(gone.iter().map(|id| lit(*id)).collect(), false));
            Ok((!gone.is_empty()).then_some(named))
        })
        .await?;
    store
        .delete_rows("lines", detail, async |_: &Snapshot| {
            Ok((!gone.is_empty()).then(|| in_sources(&gone)))
        })
        .await?;
    Ok(gone.len() as u64)
}

/// Returns those of the sources that have no accepted line at this version.
async fn still_rejected(
    store: &Store,
    snapshot: &Snapshot,
    found: &HashSet<i64>,
) -> Result<HashSet<i64>> {
    let columns = ["source_id", "line_count", "reject_count"];
    let mut refused: HashMap<i64, bool> = HashMap::new();
    let only = Some(in_sources(found));
    for batch in store.read("sources", snapshot, &columns, only).await? {
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let (ids, lines) = (number("source_id")?, number("line_count")?);
        let rejects = number("reject_count")?;
        for row in 0..batch.num_rows() {
            let all = lines.value(row) == rejects.value(row);
            *refused.entry(ids.value(row)).or_insert(true) &= all;
        }
    }
    let refused = refused.into_iter().filter(|(_, all)| *all);
    Ok(refused.map(|(id, _)| id).collect())
}

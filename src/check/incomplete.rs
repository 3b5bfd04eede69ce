//! Sources whose rows are incomplete, or refer to rows that are lost: found by comparing tables with each other.
//!
//! The repair takes them out of the ingest log, and out of all tables after that: broken off in between, these are rows
//! of an interrupted run. To ingest their files again restores them. Of a source whose file is gone the segments
//! before the first incomplete one stay; the rest is lost, and said to be. Older versions show it until `tsql vacuum`.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::prelude::{SessionContext, col, lit};

use super::checked::Mendable;
use super::reingest::Commands;
use super::sources::{Segment, Source, sources};
use crate::column;
use crate::error::Result;
use crate::ingest::orphans::{Rows, TABLES};
use crate::query::collect;
use crate::schema::{self, Reference};
use crate::store::{Snapshot, Store};

/// Rounds in which rows are removed that refer to rows which the one before has removed.
const ROUNDS: usize = 8;

/// Sources that are named in a message.
const NAMED: usize = 5;

/// Tables whose rows are known by their content, and the column that others refer to them by.
const BY_CONTENT: [(&str, &str); 4] = [
    ("graphs", "graph_id"),
    ("tasks", "graph_id"),
    ("samples", "sample_id"),
    ("configurations", "config_id"),
];

/// Graphs that have nodes of a type that is lost: a reference within a packed column.
const WITHOUT_TYPES: &str = "SELECT DISTINCT n.graph_id AS id FROM \
    (SELECT graph_id, unnest(unpack_nodes(types, type_of_node)) AS node FROM stored.graphs) AS n \
    LEFT ANTI JOIN stored.node_types AS t ON t.node_type_id = n.node['type']";

/// Incomplete sources, and the first segment of each that is.
type Incomplete = BTreeMap<i64, i32>;

/// Graphs whose nodes have types that are lost.
pub(super) async fn without_types(context: &SessionContext) -> Result<BTreeSet<i64>> {
    ids(context, WITHOUT_TYPES).await
}

/// Removes what is incomplete; what was done, in words. `rebuilds`: sources that cannot be given back are incomplete,
/// too, in tables whose rows the ingest log does not count.
pub(super) async fn repair(store: &Store, rebuilds: bool) -> Result<Vec<Mendable>> {
    let mut done = Mendable {
        found: "sources with rows that are lost",
        count: 0,
        does: "takes them out, to be ingested again",
        is_damage: true,
        then: Vec::new(),
        lost: Vec::new(),
    };
    let (mut removed, mut commands) = (BTreeSet::new(), Commands::default());
    for _ in 0..ROUNDS {
        let context = store.session().await?;
        let strays = remove_strays(store, &context).await?;
        let sources = sources(&context).await?;
        let mut found = incomplete(&context, &sources).await?;
        if found.is_empty() && strays == 0 && rebuilds {
            let rebuilt = store.rebuild_all(&context, |_, _| {}).await?;
            let failed = rebuilt.damaged.into_iter().map(|(name, _)| name);
            let failed: BTreeSet<String> = failed.collect();
            let failed = sources
                .iter()
                .filter(|(_, source)| failed.contains(&source.name));
            found.extend(failed.map(|(id, _)| (*id, 0)));
            add_samples(&mut found, &sources);
        }
        if found.is_empty() && strays == 0 {
            break;
        }
        for (id, segment) in &mut found {
            // A file that is there comes back as a whole.
            let source = sources.get(id);
            if source.is_some_and(Source::is_there) {
                *segment = 0;
            }
        }
        let new = found.iter().filter(|(id, _)| !removed.contains(*id));
        let new = new.filter_map(|(id, segment)| Some((*id, *segment, sources.get(id)?)));
        let (there, gone): (Vec<_>, Vec<_>) = new.partition(|(_, _, source)| source.is_there());
        let there = there
            .into_iter()
            .map(|(id, _, source)| (id, source))
            .collect();
        commands.add(&context, &there).await?;
        done.count += (there.len() + gone.len()) as u64;
        let gone = gone
            .into_iter()
            .map(|(_, segment, source)| source.lost(segment));
        done.lost.extend(gone);
        done.lost
            .extend(there.values().flat_map(|source| source.lost_names()));
        remove(store, &found, &sources).await?;
        removed.extend(found.into_keys());
    }
    done.then = commands.into_vec();
    Ok(Vec::from_iter((done.count > 0).then_some(done)))
}

/// Adds the other files of the samples that some sources belong to. A sample is known as a whole: its files come back
/// together.
fn add_samples(found: &mut Incomplete, sources: &BTreeMap<i64, Source>) {
    loop {
        let samples = samples_of(found, sources);
        let others = sources.iter().filter(|(id, source)| {
            let mut own = source.files.values().filter_map(|file| file.sample_id);
            !found.contains_key(*id) && own.any(|sample| samples.contains(&sample))
        });
        let others: Vec<i64> = others.map(|(id, _)| *id).collect();
        if others.is_empty() {
            return;
        }
        found.extend(others.into_iter().map(|id| (id, 0)));
    }
}

/// The samples that some sources belong to.
fn samples_of(found: &Incomplete, sources: &BTreeMap<i64, Source>) -> BTreeSet<i64> {
    let found = found.keys().filter_map(|id| sources.get(id));
    let files = found.flat_map(|source| source.files.values());
    files.filter_map(|file| file.sample_id).collect()
}

/// The sources that a repair would remove, in words.
pub(super) async fn described(context: &SessionContext) -> Result<Option<String>> {
    let sources = sources(context).await?;
    let found = incomplete(context, &sources).await?;
    let found: Vec<&Source> = found.keys().filter_map(|id| sources.get(id)).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    for (is_there, what) in [
        (true, "to be ingested again"),
        (false, "whose files are gone: lost for good"),
    ] {
        let some = found.iter().filter(|source| source.is_there() == is_there);
        let mut names: Vec<String> = match is_there {
            true => some
                .map(|source| format!("`{}`", source.argument()))
                .collect(),
            false => some.map(|source| format!("`{}`", source.name)).collect(),
        };
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let more = names.len().saturating_sub(NAMED);
        let mut listed: Vec<String> = names.into_iter().take(NAMED).collect();
        if more > 0 {
            listed.push(format!("{more} more"));
        }
        if !text.is_empty() {
            text.push_str("; ");
        }
        text += &format!("{}, {what}", listed.join(", "));
    }
    Ok(Some(text))
}

/// The numbers in the first column of an answer.
async fn ids(context: &SessionContext, sql: &str) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "id")?;
        found.extend(ids.values().iter().copied());
    }
    Ok(found)
}

/// The condition under which rows of two tables belong together, and that the first refers to any.
fn joined(columns: &[String]) -> (String, String) {
    let on = columns.iter().map(|name| format!("a.{name} = b.{name}"));
    let present = columns.iter().map(|name| format!("a.{name} IS NOT NULL"));
    let on: Vec<String> = on.collect();
    let present: Vec<String> = present.collect();
    (on.join(" AND "), present.join(" AND "))
}

/// Takes rows out of tables that are known by their content where they refer to rows that are lost; their number.
async fn remove_strays(store: &Store, context: &SessionContext) -> Result<u64> {
    let mut removed = 0;
    for (table, id) in BY_CONTENT {
        let mut strays = BTreeSet::new();
        for Reference { columns, to } in schema::table(table)?.references() {
            let (on, present) = joined(&columns);
            let sql = format!(
                "SELECT DISTINCT a.{id} AS id FROM stored.{table} AS a \
                 LEFT ANTI JOIN stored.{to} AS b ON {on} WHERE {present}"
            );
            strays.extend(ids(context, &sql).await?);
        }
        if table == "graphs" {
            strays.extend(without_types(context).await?);
        }
        if strays.is_empty() {
            continue;
        }
        let among = col(id).in_list(strays.into_iter().map(lit).collect(), false);
        let detail = "repair: rows that refer to lost rows";
        let wanted = async |_: &Snapshot| Ok(Some(among.clone()));
        removed += store.take_out(table, detail, wanted).await?;
    }
    Ok(removed)
}

/// The sources that have other rows than the ingest log counts, or rows that refer to lost ones.
async fn incomplete(
    context: &SessionContext,
    sources: &BTreeMap<i64, Source>,
) -> Result<Incomplete> {
    let mut found = Incomplete::new();
    let mut add = |id: i64, segment: i32| {
        if sources.contains_key(&id) {
            let first = found.entry(id).or_insert(segment);
            *first = segment.min(*first);
        }
    };
    for table in TABLES {
        let place = Rows::place(table);
        for Reference { columns, to } in schema::table(table)?.references() {
            if to == "sources" {
                continue;
            }
            let (on, present) = joined(&columns);
            let sql = format!(
                "SELECT a.source_id AS id, CAST(min(a.{place}) AS BIGINT) AS place FROM stored.{table} AS a \
                 LEFT ANTI JOIN stored.{to} AS b ON {on} WHERE {present} GROUP BY a.source_id"
            );
            for batch in collect(context, &sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "id")?;
                let places = column::numbers::<Int64Type>(&batch, "place")?;
                for (id, place) in ids.values().iter().zip(places.values()) {
                    add(*id, segment_at(sources.get(id), table, *place));
                }
            }
        }
    }
    for Reference { columns, to } in schema::table("sources")?.references() {
        let (on, present) = joined(&columns);
        let sql = format!(
            "SELECT DISTINCT a.source_id AS id FROM stored.sources AS a \
             LEFT ANTI JOIN stored.{to} AS b ON {on} WHERE {present}"
        );
        for id in ids(context, &sql).await? {
            add(id, 0);
        }
    }
    let counts = "SELECT source_id AS id, count(*) AS rows, count(DISTINCT line) AS lines \
                  FROM stored.all_records GROUP BY source_id";
    let records = counted(context, counts).await?;
    let counts = "SELECT source_id AS id, count(*) AS rows, count(*) AS lines FROM stored.lines GROUP BY source_id";
    let others = counted(context, counts).await?;
    for (id, source) in sources {
        let stated = |number: fn(&Segment) -> u64| source.segments.iter().map(number).sum::<u64>();
        let (rows, lines) = records.get(id).copied().unwrap_or_default();
        if rows < stated(|segment| segment.records) || lines < rows {
            add(*id, first_incomplete(context, *id, source).await?);
        }
        let (rows, _) = others.get(id).copied().unwrap_or_default();
        if rows < stated(|segment| segment.others) {
            add(*id, 0);
        }
    }
    add_samples(&mut found, sources);
    Ok(found)
}

/// The segment that a place in a table is in.
fn segment_at(source: Option<&Source>, table: &str, place: i64) -> i32 {
    if Rows::place(table) == "segment" {
        return i32::try_from(place).unwrap_or(0);
    }
    source.map_or(0, |source| source.segment_of(place))
}

/// Rows, and different lines, of each source.
async fn counted(context: &SessionContext, sql: &str) -> Result<BTreeMap<i64, (u64, u64)>> {
    let mut counts = BTreeMap::new();
    for batch in collect(context, sql).await? {
        let number = |name| column::numbers::<Int64Type>(&batch, name);
        let (ids, rows, lines) = (number("id")?, number("rows")?, number("lines")?);
        for row in 0..batch.num_rows() {
            let numbers = [rows, lines].map(|column| column.value(row).unsigned_abs());
            counts.insert(ids.value(row), (numbers[0], numbers[1]));
        }
    }
    Ok(counts)
}

/// The first segment of a source up to whose end there are other records than the ingest log counts.
async fn first_incomplete(context: &SessionContext, id: i64, source: &Source) -> Result<i32> {
    let mut stated = 0;
    for (segment, next) in source.segments.iter().zip(source.segments.iter().skip(1)) {
        stated += segment.records;
        let sql = format!(
            "SELECT count(*) AS rows, count(DISTINCT line) AS lines FROM stored.all_records \
             WHERE source_id = {id} AND line < {}",
            next.first_line
        );
        for batch in collect(context, &sql).await? {
            let numbers = batch.columns().iter();
            let numbers = numbers.filter_map(|column| column.as_primitive_opt::<Int64Type>());
            let mut numbers = numbers.filter_map(|column| column.values().first().copied());
            if numbers.any(|number| number.unsigned_abs() != stated) {
                return Ok(segment.number);
            }
        }
    }
    Ok(source.segments.last().map_or(0, |last| last.number))
}

/// Takes sources out from a segment on: first out of the ingest log, with their other names, then out of all tables.
async fn remove(store: &Store, found: &Incomplete, sources: &BTreeMap<i64, Source>) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let detail = "repair: sources with lost rows";
    // A sample whose row is gone is not there, whichever of its files are: broken off here, the next repair removes them.
    let samples = samples_of(found, sources);
    if !samples.is_empty() {
        let among = col("sample_id").in_list(samples.into_iter().map(lit).collect(), false);
        let wanted = async |_: &Snapshot| Ok(Some(among.clone()));
        store.take_out("samples", detail, wanted).await?;
    }
    let mut segments = Rows::default();
    let mut lines = Rows::default();
    for (id, segment) in found {
        let source = sources.get(id);
        let begun = source.and_then(|source| {
            let mut segments = source.segments.iter();
            segments.find(|one| one.number == *segment)
        });
        let line = begun.filter(|begun| begun.number > 0);
        segments.add(*id, i64::from(*segment));
        lines.add(*id, line.map_or(i64::MIN, |begun| begun.first_line));
    }
    // Other names of what is gone are gone with it.
    let whole = found.iter().filter(|(_, segment)| **segment == 0);
    let whole = whole.map(|(id, _)| lit(*id)).collect();
    let named = segments
        .filter("lines")
        .or(col("same_as").in_list(whole, false));
    let wanted = async |_: &Snapshot| Ok(Some(named.clone()));
    store.take_out("sources", detail, wanted).await?;
    for table in TABLES {
        let rows = match Rows::place(table) {
            "segment" => &segments,
            _ => &lines,
        };
        let filter = rows.filter(table);
        let wanted = async |_: &Snapshot| Ok(Some(filter.clone()));
        store.take_out(table, detail, wanted).await?;
    }
    Ok(())
}

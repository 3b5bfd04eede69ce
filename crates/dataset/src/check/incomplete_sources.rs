//! Incomplete sources: their rows are missing, or refer to missing rows. Found by comparing tables.
//!
//! The repair removes them from the ingest log, then from all tables. After an interruption, the remaining rows are
//! those of an interrupted run. Another ingest of their files restores them. If the file of a source is gone, the
//! segments before the first incomplete one stay; the others are lost and reported. Older versions contain them until
//! `tsql vacuum`.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::prelude::{SessionContext, col, lit};
use tsql_adapters::formats::all_formats;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_schema::{Reference, column};
use tsql_session::open_session;
use tsql_store::{Snapshot, Store};

use super::reingest::Commands;
use super::report::RepairItem;
use super::sources::{Segment, Source, read_sources};
use crate::export::rebuild_all;
use crate::ingest::orphans::{OrphanRows, TABLES};

/// Maximum number of rounds of removing rows that refer to removed rows.
const ROUNDS: usize = 8;

/// Maximum number of sources in a message.
const NAMED: usize = 5;

/// Tables whose rows are identified by content, and the column by which others refer to them.
const BY_CONTENT: [(&str, &str); 4] = [
    ("graphs", "graph_id"),
    ("tasks", "graph_id"),
    ("samples", "sample_id"),
    ("configurations", "config_id"),
];

/// Query for graphs with nodes of a missing type: a reference within a packed column.
const WITHOUT_TYPES: &str = "SELECT DISTINCT n.graph_id AS id FROM \
    (SELECT graph_id, unnest(unpack_nodes(types, type_of_node)) AS node FROM stored.graphs) AS n \
    LEFT ANTI JOIN stored.node_types AS t ON t.node_type_id = n.node['type']";

/// Incomplete sources, and the first incomplete segment of each.
type Incomplete = BTreeMap<i64, i32>;

/// Returns the graphs whose nodes have missing types.
pub(super) async fn graphs_without_types(context: &SessionContext) -> Result<BTreeSet<i64>> {
    ids(context, WITHOUT_TYPES).await
}

/// Removes incomplete sources, and returns what was done. `rebuilds`: also treats sources as incomplete that cannot be
/// exported because of rows that the ingest log does not count.
pub(super) async fn repair(store: &Store, rebuilds: bool) -> Result<Vec<RepairItem>> {
    let mut done = RepairItem {
        description: "sources with lost rows",
        count: 0,
        effect: "removes them; their files have to be ingested again",
        is_damage: true,
        next_commands: Vec::new(),
        lost: Vec::new(),
    };
    let (mut removed, mut commands) = (BTreeSet::new(), Commands::default());
    for _ in 0..ROUNDS {
        let context = open_session(store).await?;
        let strays = remove_strays(store, &context).await?;
        let sources = read_sources(&context).await?;
        let mut found = find_incomplete(&context, &sources).await?;
        if found.is_empty() && strays == 0 && rebuilds {
            let rebuilt = rebuild_all(&context, |_, _| {}).await?;
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
            // An existing file is ingested again as a whole.
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
        remove_segments(store, &found, &sources).await?;
        removed.extend(found.into_keys());
    }
    done.next_commands = commands.into_vec();
    Ok(Vec::from_iter((done.count > 0).then_some(done)))
}

/// Adds the other files of the samples of these sources. A sample is identified as a whole, so its files are ingested
/// again together.
fn add_samples(found: &mut Incomplete, sources: &BTreeMap<i64, Source>) {
    loop {
        let samples = affected_samples(found, sources);
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

/// Returns the samples of these sources.
fn affected_samples(found: &Incomplete, sources: &BTreeMap<i64, Source>) -> BTreeSet<i64> {
    let found = found.keys().filter_map(|id| sources.get(id));
    let files = found.flat_map(|source| source.files.values());
    files.filter_map(|file| file.sample_id).collect()
}

/// Describes the sources that a repair would remove.
pub(super) async fn describe_incomplete(context: &SessionContext) -> Result<Option<String>> {
    let sources = read_sources(context).await?;
    let found = find_incomplete(context, &sources).await?;
    let found: Vec<&Source> = found.keys().filter_map(|id| sources.get(id)).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    for (is_there, what) in [
        (true, "to be ingested again"),
        (false, "permanently lost because their files do not exist"),
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

/// Returns the numbers in the first column of a result.
async fn ids(context: &SessionContext, sql: &str) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "id")?;
        found.extend(ids.values().iter().copied());
    }
    Ok(found)
}

/// Returns the join condition of a reference between two tables, and the condition that the reference is not NULL.
fn join_condition(columns: &[String]) -> (String, String) {
    let on = columns.iter().map(|name| format!("a.{name} = b.{name}"));
    let present = columns.iter().map(|name| format!("a.{name} IS NOT NULL"));
    let on: Vec<String> = on.collect();
    let present: Vec<String> = present.collect();
    (on.join(" AND "), present.join(" AND "))
}

/// Removes rows with dangling references from tables that are identified by content. Returns their number.
async fn remove_strays(store: &Store, context: &SessionContext) -> Result<u64> {
    let mut removed = 0;
    for (table, id) in BY_CONTENT {
        let mut strays = BTreeSet::new();
        for Reference { columns, to } in schema::table(table)?.references() {
            let (on, present) = join_condition(&columns);
            let sql = format!(
                "SELECT DISTINCT a.{id} AS id FROM stored.{table} AS a \
                 LEFT ANTI JOIN stored.{to} AS b ON {on} WHERE {present}"
            );
            strays.extend(ids(context, &sql).await?);
        }
        if table == "graphs" {
            strays.extend(graphs_without_types(context).await?);
        }
        if strays.is_empty() {
            continue;
        }
        let among = col(id).in_list(strays.into_iter().map(lit).collect(), false);
        let detail = "repair: rows that refer to lost rows";
        let wanted = async |_: &Snapshot| Ok(Some(among.clone()));
        removed += store.delete_rows(table, detail, wanted).await?;
    }
    Ok(removed)
}

/// Returns the sources whose rows do not match the counts in the ingest log, or that have dangling references.
async fn find_incomplete(
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
        let place = OrphanRows::position_column(table);
        for Reference { columns, to } in schema::table(table)?.references() {
            if to == "sources" {
                continue;
            }
            let (on, present) = join_condition(&columns);
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
        let (on, present) = join_condition(&columns);
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
    let records = count_rows_and_lines(context, counts).await?;
    let counts = "SELECT source_id AS id, count(*) AS rows, count(*) AS lines FROM stored.lines GROUP BY source_id";
    let others = count_rows_and_lines(context, counts).await?;
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
    for id in sources_with_lost_lines(context).await? {
        add(id, 0);
    }
    add_samples(&mut found, sources);
    Ok(found)
}

/// Returns the sources with fewer rows than lines, of formats that store each line as a row without a count.
pub(super) async fn sources_with_lost_lines(context: &SessionContext) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for format in all_formats() {
        let tables = format.line_tables().iter();
        let rows: Vec<String> = tables
            .map(|table| format!("SELECT source_id FROM stored.{table}"))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let sql = format!(
            "SELECT s.source_id AS id FROM (SELECT source_id, sum(line_count) AS lines FROM stored.sources \
             WHERE dataset = '{}' AND same_as IS NULL GROUP BY source_id) AS s \
             LEFT JOIN (SELECT source_id, count(*) AS rows FROM ({}) AS l GROUP BY source_id) AS r \
             ON s.source_id = r.source_id WHERE coalesce(r.rows, 0) < s.lines",
            format.dataset(),
            rows.join(" UNION ALL ")
        );
        found.extend(ids(context, &sql).await?);
    }
    Ok(found)
}

/// Returns the segment of a position in a table.
fn segment_at(source: Option<&Source>, table: &str, place: i64) -> i32 {
    if OrphanRows::position_column(table) == "segment" {
        return i32::try_from(place).unwrap_or(0);
    }
    source.map_or(0, |source| source.segment_of(place))
}

/// Returns the number of rows and of distinct lines of each source.
async fn count_rows_and_lines(
    context: &SessionContext,
    sql: &str,
) -> Result<BTreeMap<i64, (u64, u64)>> {
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

/// Returns the first segment of a source at whose end the number of records differs from the ingest log.
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

/// Removes sources from a segment on: first from the ingest log, with their aliases, then from all tables.
async fn remove_segments(
    store: &Store,
    found: &Incomplete,
    sources: &BTreeMap<i64, Source>,
) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let detail = "repair: sources with lost rows";
    // Without its row a sample does not exist, whichever of its files do. After an interruption here, the next repair
    // removes the files.
    let samples = affected_samples(found, sources);
    if !samples.is_empty() {
        let among = col("sample_id").in_list(samples.into_iter().map(lit).collect(), false);
        let wanted = async |_: &Snapshot| Ok(Some(among.clone()));
        store.delete_rows("samples", detail, wanted).await?;
    }
    let mut segments = OrphanRows::default();
    let mut lines = OrphanRows::default();
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
    // Aliases are removed with their source.
    let whole = found.iter().filter(|(_, segment)| **segment == 0);
    let whole = whole.map(|(id, _)| lit(*id)).collect();
    let named = segments
        .filter("lines")
        .or(col("same_as").in_list(whole, false));
    let wanted = async |_: &Snapshot| Ok(Some(named.clone()));
    store.delete_rows("sources", detail, wanted).await?;
    for table in TABLES {
        let rows = match OrphanRows::position_column(table) {
            "segment" => &segments,
            _ => &lines,
        };
        let filter = rows.filter(table);
        let wanted = async |_: &Snapshot| Ok(Some(filter.clone()));
        store.delete_rows(table, detail, wanted).await?;
    }
    Ok(())
}

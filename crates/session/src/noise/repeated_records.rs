//! Pairs of repeated records, from which floors are fitted.
//!
//! A pair is two records of one configuration, program and platform that did not fail and have no spoiling flag. In a
//! comparison both are in the same sides: another pair may hold the change that is looked for.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_verdicts::floor_classes::{DayRelation, FloorPairs};
use tsql_verdicts::pair_selection::select_pairs;

use super::runs::{RecordPosition, day_of, level, spoiled_expression};

/// Maximum number of records that are searched for repeated ones. In a larger store a fixed fraction of the
/// configurations is searched, chosen by their id.
const MAX_SEARCHED_RECORDS: u64 = 4_000_000;

/// Pairs of repeated records.
#[derive(Clone, Debug, Default)]
pub struct RepeatedRecords {
    /// The pairs, by class.
    pub pairs: FloorPairs,
    /// Time of the newest record of a pair by platform, in microseconds since 1970.
    newest_us: BTreeMap<String, i64>,
}

impl RepeatedRecords {
    /// Returns the time of the newest record of a pair on a platform, in microseconds since 1970.
    pub fn newest_on(&self, platform: &str) -> Option<i64> {
        self.newest_us.get(platform).copied()
    }

    /// Returns the time of the newest record of a pair, in microseconds since 1970.
    pub fn newest_us(&self) -> Option<i64> {
        self.newest_us.values().copied().max()
    }
}

/// Selection of the records.
pub struct FloorSelection<'a> {
    /// Platforms; `None` for all.
    pub platforms: Option<&'a [String]>,
    /// SQL predicates of both sides.
    pub sides: [&'a str; 2],
    /// SQL predicate of all records.
    pub predicate: &'a str,
}

/// A record of the configuration that is being read.
struct RepeatedRecord {
    at: RecordPosition,
    level: f64,
    is_in: [bool; 2],
    program: Option<u64>,
    commit: Option<u64>,
}

/// Reads the pairs of a store.
///
/// # Errors
/// [`Error::Query`] for an invalid predicate, and failures of the storage.
pub async fn read_repeated_records(
    context: &SessionContext,
    selection: &FloorSelection<'_>,
) -> Result<RepeatedRecords> {
    let platforms = match selection.platforms {
        Some([]) => return Ok(RepeatedRecords::default()),
        Some(platforms) => {
            let quoted = platforms
                .iter()
                .map(|platform| format!("'{}'", platform.replace('\'', "''")));
            format!("platform IN ({})", quoted.collect::<Vec<_>>().join(", "))
        }
        None => "true".to_owned(),
    };
    let fraction = searched_fraction(context, &platforms).await?;
    let [in_a, in_b] = selection.sides;
    let predicate = selection.predicate;
    let spoiled = spoiled_expression();
    let measured = format!("{platforms} AND error_no = 0 AND runtime_ns > 0 AND {fraction}");
    let sql = format!(
        "SELECT r.* FROM (SELECT graph_id, config_id, arrow_cast(platform, 'Utf8View') AS platform, source_id, line, \
         measured_at, environment_id, repeats_ns, coalesce(({in_a}), false) AS in_a, coalesce(({in_b}), false) AS in_b \
         FROM records WHERE {measured} AND ({predicate}) AND NOT {spoiled}) AS r \
         JOIN (SELECT graph_id AS g, config_id AS c, arrow_cast(platform, 'Utf8View') AS p FROM records \
         WHERE {measured} GROUP BY 1, 2, 3 HAVING count(*) > 1) AS repeated \
         ON r.graph_id = repeated.g AND r.config_id = repeated.c AND r.platform = repeated.p \
         ORDER BY r.graph_id, r.config_id, r.platform, r.measured_at NULLS FIRST, r.source_id, r.line"
    );
    let frame = plan_query(context, &sql).await?;
    let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
    let mut reader = PairReader {
        programs: hashes(context, PROGRAMS).await?,
        commits: hashes(context, COMMITS).await?,
        key: None,
        records: Vec::new(),
        found: RepeatedRecords::default(),
    };
    while let Some(batch) = stream.next().await {
        reader.take(&batch.map_err(Error::Query)?)?;
    }
    reader.finish_configuration();
    Ok(reader.found)
}

/// Programs of environments, and commits of sources, each as an id and a text.
const PROGRAMS: &str = "SELECT environment_id AS id, arrow_cast(program, 'Utf8View') AS text FROM environments \
                        WHERE program IS NOT NULL";
const COMMITS: &str = "SELECT source_id AS id, arrow_cast(value, 'Utf8View') AS text FROM labels WHERE key = 'commit'";

/// Returns the hash of the text of each id.
async fn hashes(context: &SessionContext, sql: &str) -> Result<HashMap<i64, u64>> {
    let mut hashes = HashMap::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "id")?;
        let texts = column::text(&batch, "text")?;
        for row in 0..batch.num_rows() {
            let mut hasher = DefaultHasher::new();
            texts.value(row).hash(&mut hasher);
            hashes.insert(ids.value(row), hasher.finish());
        }
    }
    Ok(hashes)
}

/// Returns a SQL condition for the configurations that are searched.
async fn searched_fraction(context: &SessionContext, platforms: &str) -> Result<String> {
    let sql = format!("SELECT count(*) AS records FROM records WHERE {platforms}");
    let mut records = 0;
    for batch in collect(context, &sql).await? {
        let counts = column::numbers::<Int64Type>(&batch, "records")?;
        records += counts.values().iter().sum::<i64>().cast_unsigned();
    }
    let divisor = records.div_ceil(MAX_SEARCHED_RECORDS);
    Ok(match divisor {
        0 | 1 => "true".to_owned(),
        divisor => format!("config_id % {divisor} = 0"),
    })
}

/// Collects the records of each configuration.
struct PairReader {
    /// Hashes of programs by environment, and of commits by source.
    programs: HashMap<i64, u64>,
    commits: HashMap<i64, u64>,
    key: Option<(i64, i64, String)>,
    records: Vec<RepeatedRecord>,
    found: RepeatedRecords,
}

impl PairReader {
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let integers = |name| column::numbers::<Int64Type>(batch, name);
        let (graphs, configs) = (integers("graph_id")?, integers("config_id")?);
        let (sources, lines) = (integers("source_id")?, integers("line")?);
        let environments = integers("environment_id")?;
        let platforms = column::text(batch, "platform")?;
        let times = column::numbers::<TimestampMicrosecondType>(batch, "measured_at")?;
        let repeats = column::lists(batch, "repeats_ns")?;
        let sides = [column::flags(batch, "in_a")?, column::flags(batch, "in_b")?];
        for row in 0..batch.num_rows() {
            let (graph, config, platform) =
                (graphs.value(row), configs.value(row), platforms.value(row));
            let is_known = self.key.as_ref().is_some_and(|known| {
                (known.0, known.1, known.2.as_str()) == (graph, config, platform)
            });
            if !is_known {
                self.finish_configuration();
                self.key = Some((graph, config, platform.to_owned()));
            }
            if !repeats.is_valid(row) {
                continue;
            }
            let list = repeats.value(row);
            let Some(level) = level(list.as_primitive::<Float64Type>().values()) else {
                continue;
            };
            let at = (
                column::value(times, row),
                sources.value(row),
                lines.value(row),
            );
            self.records.push(RepeatedRecord {
                at,
                level,
                is_in: sides.map(|side| side.value(row)),
                program: self.programs.get(&environments.value(row)).copied(),
                commit: self.commits.get(&sources.value(row)).copied(),
            });
        }
        Ok(())
    }

    fn finish_configuration(&mut self) {
        let records = std::mem::take(&mut self.records);
        let Some((_, _, platform)) = self.key.take() else {
            return;
        };
        let selected = select_pairs(
            &records,
            |record| day_of(record.at),
            RepeatedRecord::may_pair,
        );
        for (pairs, days) in [
            (selected.within_day, DayRelation::Same),
            (selected.across_days, DayRelation::Different),
        ] {
            for (one, other) in pairs {
                let (Some(one), Some(other)) = (records.get(one), records.get(other)) else {
                    continue;
                };
                let levels = [one.level, other.level];
                self.found.pairs.add(&platform, levels, days);
                let Some(newest) = one.at.0.max(other.at.0) else {
                    continue;
                };
                let known = self.found.newest_us.entry(platform.clone());
                let known = known.or_insert(newest);
                *known = newest.max(*known);
            }
        }
    }
}

impl RepeatedRecord {
    /// Returns whether nothing changed between two records, as far as the store knows.
    ///
    /// Both are in the same sides of the comparison. On one day they also have the same commit; on two days another commit
    /// counts, because its changes only make the floor larger.
    fn may_pair(&self, other: &Self) -> bool {
        let is_one_day = day_of(self.at) == day_of(other.at);
        let has_same_commit = !is_one_day || self.commit == other.commit;
        self.program == other.program && self.is_in == other.is_in && has_same_commit
    }
}

//! Submissions to the TpuGraphs competition: scored against a store, and written from predictions.
//!
//! A submission is a CSV file with the header `ID,TopConfigs`: the id of a file (`<collection>:<name>`) and the
//! indices of its configurations, the fastest first, joined by `;`. A row of `tile:xla` scores 1 minus the
//! top-5 error of runtime divided by default runtime. A layout row scores Kendall's tau-b of its order and the
//! runtimes. A collection scores the mean of its rows, a submission the mean of the five collections (Kaggle,
//! "Google - Fast or Slow?").

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_metrics::ranking::{ScoredConfig, TILE_K, kendall_tau_b, tile_score};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Header of a submission.
const HEADER: [&str; 2] = ["ID", "TopConfigs"];

/// Prefix of the ids of tile rows.
const TILE: &str = "tile:";

/// Number of collections in a submission.
const COLLECTIONS: usize = 5;

/// Number of files whose runtimes are queried together.
const FILES_AT_ONCE: usize = 256;

/// Scores of a submission.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SubmissionScore {
    /// Scores of all rows, in order.
    pub rows: Vec<RowScore>,
    /// Mean and number of the scored rows of each collection.
    pub collections: BTreeMap<String, (f64, u64)>,
    /// Mean of the collections; `None` unless all five have a score.
    pub score: Option<f64>,
}

/// Score of a row of a submission.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RowScore {
    /// Line in the file, from 1.
    pub line: u64,
    /// The file's id.
    pub id: String,
    /// Score, or the reason why there is none.
    pub score: std::result::Result<f64, String>,
}

impl RowScore {
    /// Returns the id without the file name.
    fn collection(&self) -> &str {
        self.id.rsplit_once(':').map_or("", |(start, _)| start)
    }
}

/// A parsed row of a submission.
struct SubmissionRow {
    line: u64,
    id: String,
    order: std::result::Result<Vec<usize>, String>,
}

/// Runtime and default runtime of each configuration of a file, if known.
type Runtimes = Vec<(Option<f64>, Option<f64>)>;

/// Returns true if this is the header line of a submission.
pub fn is_submission(line: &str) -> bool {
    line.trim_start_matches('\u{feff}')
        .trim_end()
        .split(',')
        .eq(HEADER)
}

/// Scores a submission against the runtimes of the store.
///
/// # Errors
/// [`Error::Source`] for a file that is not a submission. A row that cannot be scored is not an error: its
/// result has the reason.
pub async fn score_submission(store: &Store, path: &Path) -> Result<SubmissionScore> {
    let rows = read_submission(path)?;
    let context = open_session(store).await?;
    let files = files_by_id(&context).await?;
    let mut scored = SubmissionScore::default();
    for rows in rows.chunks(FILES_AT_ONCE) {
        let ids = rows.iter().filter_map(|row| files.get(&row.id));
        let runtimes = load_runtimes(&context, ids).await?;
        for row in rows {
            let known = files.get(&row.id).map(|file| runtimes.get(file));
            scored.rows.push(RowScore {
                line: row.line,
                id: row.id.clone(),
                score: score_row(row, known.flatten()),
            });
        }
    }
    let mut sums: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in &scored.rows {
        if let Ok(score) = row.score {
            sums.entry(row.collection().to_owned())
                .or_default()
                .push(score);
        }
    }
    let means = sums.into_iter();
    scored.collections = means
        .map(|(name, scores)| (name, (mean(&scores), scores.len() as u64)))
        .collect();
    let means: Vec<f64> = scored.collections.values().map(|(mean, _)| *mean).collect();
    scored.score = (means.len() == COLLECTIONS).then(|| mean(&means));
    Ok(scored)
}

/// Writes a submission from predictions: a file, or a query in parentheses, with the columns `id`, `sample`
/// (index of the configuration, from 0) and `score` (lower is faster). A tile row lists the best five
/// configurations, any other row all. Returns the number of rows.
///
/// # Errors
/// [`Error::Query`] if the predictions cannot be read or lack a column.
pub async fn write_submission(
    store: &Store,
    predictions: &str,
    out: &mut dyn Write,
) -> Result<u64> {
    let context = open_session(store).await?;
    let from = if predictions.trim_start().starts_with('(') {
        predictions.to_owned()
    } else {
        format!("'{}'", predictions.replace('\'', "''"))
    };
    let sql = format!(
        "SELECT CAST(id AS VARCHAR) AS id, CAST(sample AS BIGINT) AS sample FROM {from} AS p \
         WHERE score IS NOT NULL ORDER BY id, score, sample"
    );
    let frame = context.sql(&sql).await.map_err(Error::Query)?;
    let mut found = frame.execute_stream().await.map_err(Error::Query)?;
    let mut rows = SubmissionWriter {
        out,
        id: None,
        named: 0,
        rows: 0,
    };
    rows.line(&HEADER.join(","))?;
    while let Some(batch) = found.next().await {
        let batch = batch.map_err(Error::Query)?;
        let ids = batch
            .column_by_name("id")
            .map(|ids| arrow::compute::cast(ids, &arrow::datatypes::DataType::Utf8View));
        let missing = || Error::Internal("predictions without ids".to_owned());
        let ids = ids.and_then(std::result::Result::ok).ok_or_else(missing)?;
        let ids = datafusion::common::cast::as_string_view_array(&ids).map_err(Error::Query)?;
        let samples = column::numbers::<Int64Type>(&batch, "sample")?;
        for (id, sample) in ids.iter().zip(samples.iter()) {
            if let (Some(id), Some(sample)) = (id, sample) {
                rows.add(id, sample)?;
            }
        }
    }
    rows.end()?;
    Ok(rows.rows)
}

/// Writer of a submission.
struct SubmissionWriter<'a> {
    out: &'a mut dyn Write,
    id: Option<String>,
    named: usize,
    rows: u64,
}

impl SubmissionWriter<'_> {
    fn text(&mut self, text: &str) -> Result<()> {
        let written = self.out.write_all(text.as_bytes());
        written.map_err(Error::io("submission"))
    }

    fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    fn add(&mut self, id: &str, sample: i64) -> Result<()> {
        if self.id.as_deref() != Some(id) {
            self.end()?;
            self.text(id)?;
            (self.id, self.named) = (Some(id.to_owned()), 0);
            self.rows += 1;
        }
        if !(id.starts_with(TILE) && self.named == TILE_K) {
            let separator = if self.named == 0 { ',' } else { ';' };
            self.text(&format!("{separator}{sample}"))?;
            self.named += 1;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if self.id.is_some() {
            self.text("\n")?;
        }
        self.out.flush().map_err(Error::io("submission"))
    }
}

fn mean(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rows of a submission")]
    let count = values.len() as f64;
    values.iter().sum::<f64>() / count
}

fn read_submission(path: &Path) -> Result<Vec<SubmissionRow>> {
    let wrong = |error: csv::Error| Error::Source {
        location: path.display().to_string(),
        reason: error.to_string(),
    };
    let mut reader = csv::Reader::from_path(path).map_err(wrong)?;
    let header = reader.headers().map_err(wrong)?;
    if header.iter().ne(HEADER) {
        let found = header.iter().take(4).collect::<Vec<_>>().join(",");
        return Err(Error::Source {
            location: path.display().to_string(),
            reason: format!(
                "it is not a submission: expected the header `ID,TopConfigs`, found `{found}`"
            ),
        });
    }
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let id = record.get(0).unwrap_or_default().to_owned();
        let order = if seen.insert(id.clone()) {
            parse_order(record.get(1).unwrap_or_default())
        } else {
            Err("the id occurs twice".to_owned())
        };
        let line = record.position().map_or(0, csv::Position::line);
        rows.push(SubmissionRow { line, id, order });
    }
    Ok(rows)
}

fn parse_order(text: &str) -> std::result::Result<Vec<usize>, String> {
    let mut seen = HashSet::new();
    let index = |text: &str| {
        let index = text.trim().parse::<usize>();
        let index = index.map_err(|_| format!("`{text}` is not an index of a configuration"))?;
        let once = seen.insert(index).then_some(index);
        once.ok_or_else(|| format!("configuration {index} occurs twice"))
    };
    let indices = text.split(';').filter(|text| !text.trim().is_empty());
    let order = indices
        .map(index)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    if order.is_empty() {
        return Err("no configurations".to_owned());
    }
    Ok(order)
}

/// Graph and source of a file.
type File = (i64, i64);

async fn files_by_id(context: &SessionContext) -> Result<HashMap<String, File>> {
    let sql =
        "SELECT id, graph_id, source_id FROM sources WHERE id IS NOT NULL AND same_as IS NULL";
    let mut files = HashMap::new();
    for batch in collect(context, sql).await? {
        let ids = column::text(&batch, "id")?;
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        for row in 0..batch.num_rows() {
            let file = (graphs.value(row), sources.value(row));
            files.insert(ids.value(row).to_owned(), file);
        }
    }
    Ok(files)
}

async fn load_runtimes(
    context: &SessionContext,
    files: impl Iterator<Item = &File>,
) -> Result<HashMap<File, Runtimes>> {
    let files: HashSet<File> = files.copied().collect();
    let list = |of: fn(&File) -> i64| {
        let ids: HashSet<i64> = files.iter().map(of).collect();
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.join(", ")
    };
    let mut runtimes: HashMap<File, Runtimes> = HashMap::new();
    if files.is_empty() {
        return Ok(runtimes);
    }
    let sql = format!(
        "SELECT graph_id, source_id, runtime_ns, baseline_ns FROM stored.records \
         WHERE graph_id IN ({}) AND source_id IN ({}) ORDER BY graph_id, source_id, line",
        list(|file| file.0),
        list(|file| file.1)
    );
    for batch in collect(context, &sql).await? {
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let times = column::numbers::<Float64Type>(&batch, "runtime_ns")?;
        let baselines = column::numbers::<Float64Type>(&batch, "baseline_ns")?;
        for row in 0..batch.num_rows() {
            let file = (graphs.value(row), sources.value(row));
            let own = runtimes.entry(file).or_default();
            own.push((column::value(times, row), column::value(baselines, row)));
        }
    }
    Ok(runtimes)
}

/// Returns the score of a row, or the reason why there is none.
fn score_row(row: &SubmissionRow, known: Option<&Runtimes>) -> std::result::Result<f64, String> {
    let order = row.order.as_ref().map_err(Clone::clone)?;
    let known = known.ok_or_else(|| "the store does not have this file".to_owned())?;
    let tile = row.id.starts_with(TILE);
    let runtime = |&(runtime, baseline): &(Option<f64>, Option<f64>)| {
        Some(if tile { runtime? / baseline? } else { runtime? })
    };
    if known.iter().all(|known| runtime(known).is_none()) {
        return Err("its runtimes are withheld".to_owned());
    }
    let mut pairs = Vec::with_capacity(order.len());
    for (&index, position) in order.iter().zip(0_u32..) {
        let known = known.get(index).ok_or_else(|| {
            format!(
                "configuration {index} does not exist: the file has {}, \
                counted from 0",
                known.len()
            )
        })?;
        if let Some(runtime) = runtime(known) {
            let score = position.into();
            pairs.push(ScoredConfig { runtime, score });
        }
    }
    let score = if tile {
        let best = known.iter().filter_map(runtime).min_by(f64::total_cmp);
        tile_score(best, &pairs)
    } else {
        kendall_tau_b(&pairs)
    };
    score.ok_or_else(|| "it has no score: it has one runtime, or all runtimes are equal".to_owned())
}

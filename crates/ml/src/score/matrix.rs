//! Scores of several models on several platforms, as for the transfer of models between platforms (TenSet, figure 6b).

#[cfg(feature = "plot")]
mod chart;
#[cfg(not(feature = "plot"))]
mod no_chart;

use std::collections::BTreeSet;

use serde::Serialize;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

use super::options::{ScoreOptions, Scoring};
use super::report::{Predictor, Score, ScoreReport, ScoreRow};
use super::score;
use crate::splits::find_split;

/// Name of the row with the expected scores of a random order.
const RANDOM: &str = "random";

/// Scores of models by platform.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoreMatrix {
    /// Format of the scores.
    pub scoring: Scoring,
    /// Split with its version; `None` if all records were scored.
    pub split: Option<String>,
    /// Part of the split.
    pub part: String,
    /// Names of the metrics, in order.
    pub metrics: Vec<String>,
    /// Names of the main metrics.
    pub main_metrics: Vec<String>,
    /// Platforms, in ascending order.
    pub platforms: Vec<String>,
    /// Models in the given order, then `random`, the expected scores of a random order.
    pub models: Vec<String>,
    /// A cell for each model and platform, by platform.
    pub cells: Vec<MatrixCell>,
}

/// Scores of a model on a platform.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MatrixCell {
    /// Name of the model.
    pub model: String,
    /// Platform of the records.
    pub platform: String,
    /// Number of scored tasks.
    pub tasks: u64,
    /// Number of ranked records.
    pub rows: u64,
    /// Total scores, in the order of [`ScoreMatrix::metrics`]; empty if there are none.
    pub scores: Vec<Score>,
    /// Reason for missing scores.
    pub reason: Option<String>,
}

impl ScoreMatrix {
    /// Returns the cell of a model on a platform.
    pub fn cell(&self, model: &str, platform: &str) -> Option<&MatrixCell> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.model == model && cell.platform == platform)
    }

    /// Returns the place of a metric among the scores of a cell; by default of the first main metric.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is no such metric.
    pub fn metric(&self, name: Option<&str>) -> Result<usize> {
        let first = self.main_metrics.first().map(String::as_str);
        let name = name.or(first).unwrap_or_default();
        let place = self.metrics.iter().position(|metric| metric == name);
        place.ok_or_else(|| Error::Unknown {
            kind: "metric",
            name: name.to_owned(),
            known: self.metrics.join(", "),
        })
    }
}

/// Scores each model on each platform of the selected records. A model is a name with its predictions, as for
/// [`score`]. Predictions without platforms apply to all platforms.
///
/// ```
/// use tsql_ml::score::{ScoreOptions, Scoring, score_matrix};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let store = tsql_dataset::demo::create_demo().await?;
/// let predicted = "(SELECT config_key, avg(runtime_ns) AS predicted_ns FROM records WHERE status = 'ok' GROUP BY 1)";
/// let models = [("mean of platforms".to_owned(), predicted.to_owned())];
/// let options = ScoreOptions::default().allow_missing(true).resamples(0);
/// let matrix = score_matrix(&store, Scoring::Tlp, &models, &options).await?;
/// assert_eq!(matrix.models, ["mean of platforms", "random"]);
/// assert_eq!(matrix.cells.len(), 2 * matrix.platforms.len());
/// # Ok::<(), tsql_error::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// As [`score`], except that with `allow_missing` a platform without predictions of a model is a cell with a reason.
/// [`Error::Argument`] for repeated names of models and for a scoring other than TenSet's and TLP's, [`Error::Empty`]
/// without records.
pub async fn score_matrix(
    store: &Store,
    scoring: Scoring,
    models: &[(String, String)],
    options: &ScoreOptions,
) -> Result<ScoreMatrix> {
    check_arguments(scoring, models)?;
    let split = match &options.split {
        Some(name) => Some(find_split(store, name).await?.full_name()),
        None => None,
    };
    let platforms = platforms(store, &options.selection(scoring, split.as_deref())).await?;
    let mut matrix = ScoreMatrix {
        scoring,
        part: options.scored_part(scoring).to_owned(),
        split,
        metrics: Vec::new(),
        main_metrics: Vec::new(),
        models: models.iter().map(|(name, _)| name.clone()).collect(),
        cells: Vec::new(),
        platforms,
    };
    for platform in &matrix.platforms {
        let predicate = format!(
            "({}) AND platform = '{}'",
            options.predicate,
            platform.replace('\'', "''")
        );
        let on_platform = options.clone().predicate(predicate);
        let mut random = None;
        for (name, predictions) in models {
            match score(store, scoring, predictions, &on_platform).await {
                Ok(report) => {
                    matrix
                        .cells
                        .extend(total(&report, Predictor::Predictions, name, platform));
                    random = random.or_else(|| total(&report, Predictor::Random, RANDOM, platform));
                    (matrix.metrics, matrix.main_metrics) = (report.metrics, report.main_metrics);
                }
                Err(Error::Empty(reason)) => matrix.cells.push(MatrixCell {
                    model: name.clone(),
                    platform: platform.clone(),
                    tasks: 0,
                    rows: 0,
                    scores: Vec::new(),
                    reason: Some(reason),
                }),
                Err(error) => return Err(error),
            }
        }
        matrix.cells.extend(random);
    }
    if matrix.metrics.is_empty() {
        let what = "no model has a prediction for any of the records".to_owned();
        return Err(Error::Empty(what));
    }
    matrix.models.push(RANDOM.to_owned());
    Ok(matrix)
}

fn check_arguments(scoring: Scoring, models: &[(String, String)]) -> Result<()> {
    let rejected = |reason: String| {
        Err(Error::Argument {
            name: "model",
            reason,
        })
    };
    if !matches!(scoring, Scoring::Tenset | Scoring::Tlp) {
        let name = scoring.name();
        return rejected(format!(
            "expected the scores of tenset or tlp, not of {name}"
        ));
    }
    if models.is_empty() {
        return rejected("expected one or more models\nhint: --model NAME=PREDICTIONS".to_owned());
    }
    let mut names = BTreeSet::from([RANDOM]);
    match models.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => rejected(format!("the name `{name}` is used twice")),
        None => Ok(()),
    }
}

/// Returns the platforms of the selected records.
async fn platforms(store: &Store, selection: &str) -> Result<Vec<String>> {
    let context = open_session(store).await?;
    let sql = format!("SELECT DISTINCT platform FROM records WHERE {selection} ORDER BY platform");
    let mut found = Vec::new();
    for batch in collect(&context, &sql).await? {
        let platforms = column::text(&batch, "platform")?;
        found.extend((0..batch.num_rows()).map(|row| platforms.value(row).to_owned()));
    }
    match found.is_empty() {
        true => Err(Error::Empty("no record is selected".to_owned())),
        false => Ok(found),
    }
}

/// Returns the total of a predictor, which follows its groups: TenSet's is the mean, TLP's the ratio of sums.
fn total(
    report: &ScoreReport,
    predictor: Predictor,
    model: &str,
    platform: &str,
) -> Option<MatrixCell> {
    let is_mean =
        |row: &&ScoreRow| report.scoring == Scoring::Tenset && row.group.starts_with("mean of ");
    let own = || report.rows.iter().filter(|row| row.predictor == predictor);
    let row = own().rfind(is_mean).or_else(|| own().next_back())?;
    Some(MatrixCell {
        model: model.to_owned(),
        platform: platform.to_owned(),
        tasks: row.tasks,
        rows: row.rows,
        scores: row.scores.clone(),
        reason: None,
    })
}

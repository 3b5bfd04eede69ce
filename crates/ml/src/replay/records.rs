//! Trials of the records of a store.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::curve::float;
use super::report::Coverage;
use super::task::TaskTrials;
use super::trials::Trial;
use crate::score::{MatchedPredictions, target_kind};

/// Seconds of a draw: compiling, all repeats, and the overhead of the tuner except for its search. KTT states its overhead
/// as a whole.
const COST: &str = "\
    CASE WHEN total_overhead IS NOT NULL THEN total_overhead + coalesce(repeats_s, 0) \
      WHEN compile_time IS NOT NULL OR benchmark_time IS NOT NULL THEN coalesce(compile_time, 0) \
        + coalesce(benchmark_time, repeats_s, 0) + coalesce(lower_time, 0) + coalesce(verification_time, 0) \
        + coalesce(framework_time, 0) \
      ELSE all_cost_s END";

/// Names of the metrics in [`COST`].
const COST_METRICS: [&str; 6] = [
    "total_overhead",
    "compile_time",
    "benchmark_time",
    "lower_time",
    "verification_time",
    "framework_time",
];

/// A record of the task that is being read.
struct RecordRow {
    config_id: i64,
    source_id: i64,
    line: i64,
    measured_us: Option<i64>,
    time_ns: Option<f64>,
    cost_s: Option<f64>,
    prediction: Option<f64>,
}

/// Coverage of a task by all of its records.
struct TaskCoverage {
    coverage: Coverage,
    reason: Option<String>,
    configs: i64,
}

/// Reads the trials of a store, task by task.
pub(super) struct TrialReader<'a> {
    matched: Option<&'a mut MatchedPredictions>,
    coverage: HashMap<(i64, String), TaskCoverage>,
    names: HashMap<i64, String>,
    targets: HashMap<i64, String>,
    /// Graph, platform and kind of target of the task that is being read.
    current: Option<(i64, String, String)>,
    rows: Vec<RecordRow>,
}

impl<'a> TrialReader<'a> {
    /// Reads what is known about the tasks of a selection of records.
    ///
    /// # Errors
    /// [`Error::Query`] for an invalid selection.
    pub(super) async fn new(
        context: &SessionContext,
        selection: &str,
        matched: Option<&'a mut MatchedPredictions>,
    ) -> Result<Self> {
        let names = format!(
            "SELECT graph_id AS id, arrow_cast(workload_key, 'Utf8View') AS name FROM graphs \
             WHERE graph_id IN (SELECT DISTINCT graph_id FROM records WHERE {selection})"
        );
        let targets =
            "SELECT environment_id AS id, arrow_cast(target, 'Utf8View') AS name FROM environments";
        Ok(Self {
            matched,
            coverage: read_coverage(context).await?,
            names: read_names(context, &names).await?,
            targets: read_names(context, targets).await?,
            current: None,
            rows: Vec::new(),
        })
    }

    /// Reads the records, and passes each task on.
    pub(super) async fn read(
        &mut self,
        context: &SessionContext,
        selection: &str,
        mut pass: impl FnMut(TaskTrials),
    ) -> Result<()> {
        let metrics = COST_METRICS.map(|name| format!("metric(metrics, '{name}') AS {name}"));
        let sql = format!(
            "SELECT graph_id, platform, config_id, source_id, line, environment_id, measured_us, time_ns, {COST} AS cost_s \
             FROM (SELECT graph_id, arrow_cast(platform, 'Utf8View') AS platform, config_id, source_id, line, \
                 environment_id, arrow_cast(measured_at, 'Int64') AS measured_us, \
                 CASE WHEN error_no = 0 THEN runtime_ns END AS time_ns, \
                 runtime_ns * greatest(repeat_count, 1) / 1e9 AS repeats_s, all_cost_s, {} \
               FROM records WHERE {selection}) AS trials \
             ORDER BY graph_id, platform",
            metrics.join(", ")
        );
        let frame = plan_query(context, &sql).await?;
        let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
        while let Some(batch) = stream.next().await {
            self.read_batch(&batch.map_err(Error::Query)?, &mut pass)?;
        }
        self.finish_task(&mut pass);
        Ok(())
    }

    fn read_batch(&mut self, batch: &RecordBatch, pass: &mut impl FnMut(TaskTrials)) -> Result<()> {
        let numbers = |name| column::numbers::<Int64Type>(batch, name);
        let (graphs, configs) = (numbers("graph_id")?, numbers("config_id")?);
        let (sources, lines) = (numbers("source_id")?, numbers("line")?);
        let (environments, measured) = (numbers("environment_id")?, numbers("measured_us")?);
        let platforms = column::text(batch, "platform")?;
        let times = column::numbers::<Float64Type>(batch, "time_ns")?;
        let costs = column::numbers::<Float64Type>(batch, "cost_s")?;
        for row in 0..batch.num_rows() {
            let (graph_id, platform) = (graphs.value(row), platforms.value(row));
            let is_current = |(graph, name, _): &(i64, String, String)| {
                (*graph, name.as_str()) == (graph_id, platform)
            };
            if !self.current.as_ref().is_some_and(is_current) {
                self.finish_task(pass);
                let target = self.targets.get(&environments.value(row));
                let kind = target.map(|target| target_kind(target)).unwrap_or_default();
                self.current = Some((graph_id, platform.to_owned(), kind));
            }
            let config_id = configs.value(row);
            let prediction = self.matched.as_mut().and_then(|matched| {
                let number = matched.platform_number(platform);
                let value = matched.prediction_for(config_id, number, true)?;
                // A smaller time is a better one.
                Some(if matched.predictions.are_times() {
                    -value
                } else {
                    value
                })
            });
            self.rows.push(RecordRow {
                config_id,
                source_id: sources.value(row),
                line: lines.value(row),
                measured_us: column::value(measured, row),
                time_ns: column::value(times, row).filter(|time| time.is_finite()),
                cost_s: column::value(costs, row).filter(|cost| cost.is_finite() && *cost >= 0.0),
                prediction,
            });
        }
        Ok(())
    }

    /// Passes the task on that was read.
    fn finish_task(&mut self, pass: &mut impl FnMut(TaskTrials)) {
        let rows = std::mem::take(&mut self.rows);
        let Some((graph_id, platform, target_kind)) = self.current.take() else {
            return;
        };
        let has_invalid_predictions = rows
            .iter()
            .any(|row| row.prediction.is_some_and(f64::is_nan));
        let trials = trials(rows);
        let known = self.coverage.remove(&(graph_id, platform.clone()));
        let (coverage, coverage_reason) = match known {
            Some(known) if known.coverage == Coverage::Exhaustive => {
                let selected = i64::try_from(trials.len()).unwrap_or(i64::MAX);
                // Without some trials, the space is no longer complete.
                match selected < known.configs {
                    true => (
                        Coverage::Searched,
                        Some(format!(
                            "{selected} of {} configurations are selected",
                            known.configs
                        )),
                    ),
                    false => (known.coverage, None),
                }
            }
            Some(known) => (known.coverage, known.reason),
            None => (
                Coverage::Unknown,
                Some("no source states a search space".to_owned()),
            ),
        };
        pass(TaskTrials {
            graph_id,
            name: self.names.get(&graph_id).cloned().unwrap_or_default(),
            platform,
            target_kind,
            coverage,
            coverage_reason,
            trials,
            has_invalid_predictions,
        });
    }
}

/// Merges the records of each configuration, in the order of their first records. Sources are in the order of their first
/// times; those without times come last.
fn trials(mut rows: Vec<RecordRow>) -> Vec<Trial> {
    let mut starts: HashMap<i64, i64, RandomState> = HashMap::default();
    for row in &rows {
        let start = starts.entry(row.source_id).or_insert(i64::MAX);
        *start = row.measured_us.unwrap_or(i64::MAX).min(*start);
    }
    rows.sort_by_key(|row| {
        let start = starts.get(&row.source_id).copied();
        (start, row.source_id, row.line)
    });
    let mut places: HashMap<i64, usize, RandomState> = HashMap::default();
    let mut merged: Vec<Vec<RecordRow>> = Vec::new();
    for row in rows {
        let place = *places.entry(row.config_id).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(records) => records.push(row),
            None => merged.push(vec![row]),
        }
    }
    let mean = |values: Vec<f64>| {
        let count = values.len();
        (count > 0).then(|| values.iter().sum::<f64>() / float(count))
    };
    let trial = |records: &Vec<RecordRow>| {
        let costs: Option<Vec<f64>> = records.iter().map(|row| row.cost_s).collect();
        Trial {
            time_ns: mean(records.iter().filter_map(|row| row.time_ns).collect()),
            cost_s: costs.and_then(mean),
            prediction: records.iter().find_map(|row| row.prediction),
        }
    };
    merged.iter().map(trial).collect()
}

/// Reads texts by identifier.
async fn read_names(context: &SessionContext, sql: &str) -> Result<HashMap<i64, String>> {
    let mut found = HashMap::new();
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "id")?;
        let names = column::text(&batch, "name")?;
        let each = ids.values().iter().zip(names);
        found.extend(each.filter_map(|(id, name)| Some((*id, name?.to_owned()))));
    }
    Ok(found)
}

async fn read_coverage(context: &SessionContext) -> Result<HashMap<(i64, String), TaskCoverage>> {
    let sql = "SELECT graph_id, arrow_cast(platform, 'Utf8View') AS platform, arrow_cast(verdict, 'Utf8View') AS verdict, \
               arrow_cast(reason, 'Utf8View') AS reason, config_count FROM search_spaces()";
    let mut found = HashMap::new();
    for batch in collect(context, sql).await? {
        let graphs = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let configs = column::numbers::<Int64Type>(&batch, "config_count")?;
        let [platforms, verdicts, reasons] =
            ["platform", "verdict", "reason"].map(|name| column::text(&batch, name));
        let (platforms, verdicts, reasons) = (platforms?, verdicts?, reasons?);
        for row in 0..batch.num_rows() {
            let key = (graphs.value(row), platforms.value(row).to_owned());
            let coverage = match verdicts.value(row) {
                "exhaustive" => Coverage::Exhaustive,
                "winners" => Coverage::Winners,
                _ => Coverage::Searched,
            };
            let known = TaskCoverage {
                coverage,
                reason: column::text_at(reasons, row).map(str::to_owned),
                configs: configs.value(row),
            };
            found.insert(key, known);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(config_id: i64, source_id: i64, line: i64, time_ns: Option<f64>) -> RecordRow {
        RecordRow {
            config_id,
            source_id,
            line,
            measured_us: (source_id != 9).then_some(100 - source_id),
            time_ns,
            cost_s: Some(1.0),
            prediction: None,
        }
    }

    #[test]
    fn records_of_a_configuration_are_one_trial_at_its_first_record() {
        // Source 3 began before source 2, and source 9 has no times.
        let rows = vec![
            row(5, 9, 1, Some(9.0)),
            row(1, 2, 1, Some(10.0)),
            row(2, 2, 2, None),
            row(1, 3, 2, Some(20.0)),
            row(4, 3, 1, None),
            row(2, 3, 3, None),
        ];
        let found = trials(rows);
        let times: Vec<Option<f64>> = found.iter().map(|trial| trial.time_ns).collect();
        assert_eq!(times, [None, Some(15.0), None, Some(9.0)]);
        assert!(found.iter().all(|trial| trial.cost_s == Some(1.0)));
    }

    #[test]
    fn a_trial_has_a_cost_if_all_of_its_records_have_one() {
        let mut rows = vec![
            row(1, 1, 1, Some(1.0)),
            row(1, 1, 2, None),
            row(2, 1, 3, None),
        ];
        rows[1].cost_s = Some(3.0);
        rows[2].cost_s = None;
        let costs: Vec<Option<f64>> = trials(rows).iter().map(|trial| trial.cost_s).collect();
        assert_eq!(costs, [Some(2.0), None]);
    }
}

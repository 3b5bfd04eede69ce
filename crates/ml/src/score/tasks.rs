//! Scored records, grouped by task.

use std::collections::HashMap;

use ahash::RandomState;
use arrow::array::RecordBatch;
use arrow::datatypes::{Float64Type, Int16Type, Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::indices::EvaluationIndices;
use super::matched::MatchedPredictions;

/// A record of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskRecord {
    /// NaN if it failed.
    runtime_ns: f64,
    /// Baseline time of the comparison; NaN if there is none.
    baseline_ns: f64,
    /// First repeat; NaN if there is only one.
    first_ns: f64,
    repeats: i32,
    config_id: i64,
    source_id: i64,
    line: i64,
    pub(super) prediction: Option<f64>,
    /// Whether a required prediction is missing.
    is_missing: bool,
}

impl TaskRecord {
    /// Runtime; `None` if it failed.
    pub(super) fn runtime_ns(&self) -> Option<f64> {
        (!self.runtime_ns.is_nan()).then_some(self.runtime_ns)
    }

    /// Runtime relative to the baseline.
    pub(super) fn relative(&self) -> Option<f64> {
        let relative = self.runtime_ns / self.baseline_ns;
        (!relative.is_nan()).then_some(relative)
    }

    /// File and line.
    pub(super) fn location(&self) -> (i64, i64) {
        (self.source_id, self.line)
    }

    /// First repeat, and the mean of the others.
    fn first_and_others(&self) -> Option<(f64, f64)> {
        let (count, first) = (f64::from(self.repeats), self.first_ns);
        let others = (self.runtime_ns * count - first) / (count - 1.0);
        let is_time = |ns: f64| ns > 0.0 && ns.is_finite();
        (self.repeats > 1 && is_time(first) && is_time(others)).then_some((first, others))
    }
}

/// Identity of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TaskKey {
    pub(super) graph_id: i64,
    /// Number of the platform in [`MatchedPredictions`].
    pub(super) platform: usize,
    /// Number of the target in [`Tasks`]; for TpuGraphs that of the file.
    pub(super) target: i64,
}

/// A task with its records, in the order of their files.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) key: TaskKey,
    pub(super) rows: Vec<TaskRecord>,
}

impl Task {
    pub(super) fn failed_count(&self) -> u64 {
        let failed = self.rows.iter().filter(|row| row.runtime_ns.is_nan());
        failed.count() as u64
    }

    pub(super) fn missing_count(&self) -> u64 {
        self.rows.iter().filter(|row| row.is_missing).count() as u64
    }

    /// First repeats, and the means of the others.
    pub(super) fn repeats(&self) -> Vec<(f64, f64)> {
        let rows = self.rows.iter();
        rows.filter_map(TaskRecord::first_and_others).collect()
    }

    /// Runtimes of the first records of configurations, and the means of the later ones.
    pub(super) fn measured_again(&self) -> Vec<(f64, f64)> {
        self.repeated_times(TaskRecord::runtime_ns)
    }

    /// As [`Self::measured_again`], for another time.
    pub(super) fn repeated_times(&self, time: fn(&TaskRecord) -> Option<f64>) -> Vec<(f64, f64)> {
        let known = |row: &TaskRecord| Some((row.config_id, time(row)?));
        let mut times: Vec<(i64, f64)> = self.rows.iter().filter_map(known).collect();
        times.sort_by_key(|(config_id, _)| *config_id);
        let again = times.chunk_by(|a, b| a.0 == b.0).filter_map(|times| {
            let ((_, first), others) = times.split_first()?;
            let (mut sum, mut count) = (0.0, 0.0);
            for (_, time) in others {
                sum += time;
                count += 1.0;
            }
            (count > 0.0).then_some((*first, sum / count))
        });
        again.collect()
    }
}

/// Options for reading records.
#[derive(Clone, Copy)]
pub(super) struct ReadOptions<'a> {
    /// SQL predicate over `records`.
    pub(super) selection: &'a str,
    /// Multiplicity of each record; one if `None`.
    pub(super) drawn: Option<&'a EvaluationIndices>,
    pub(super) by: TaskIdentity,
    /// Whether failed records need no prediction.
    pub(super) spares_failed: bool,
}

/// All tasks.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) tasks: Vec<Task>,
    places: HashMap<TaskKey, usize, RandomState>,
    targets: Vec<String>,
}

/// Property that distinguishes tasks of a graph on a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskIdentity {
    /// The target string, as for TenSet's labels.
    Target,
    /// The file.
    Source,
    /// Nothing.
    Graph,
}

impl Tasks {
    /// Reads the records.
    ///
    /// # Errors
    /// [`Error::Query`] for an invalid selection.
    pub(super) async fn read(
        context: &SessionContext,
        matched: &mut MatchedPredictions,
        reading: ReadOptions<'_>,
    ) -> Result<Self> {
        let selection = reading.selection;
        let mut tasks = Self::default();
        let targets = tasks.targets(context).await?;
        let sql = format!(
            "SELECT graph_id, config_id, arrow_cast(platform, 'Utf8View') AS platform, environment_id, source_id, line, \
             error_no, runtime_ns, baseline_ns, repeat_count, \
             CASE WHEN repeat_count > 1 THEN repeats_ns[1] END AS first_ns \
             FROM records WHERE {selection}"
        );
        let rows = plan_query(context, &sql).await?.execute_stream().await;
        let mut rows = rows.map_err(Error::Query)?;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(Error::Query)?;
            tasks.take(&batch, matched, &targets, reading)?;
        }
        for task in &mut tasks.tasks {
            task.rows
                .sort_unstable_by_key(|row| (row.source_id, row.line));
        }
        // By names, because numbers depend on the order of the records.
        tasks.tasks.sort_by_cached_key(|task| {
            let platform = matched.platform_name(task.key.platform);
            let platform = platform.unwrap_or_default().to_owned();
            (platform, task.key.graph_id, task.key.target)
        });
        Ok(tasks)
    }

    /// Number of the target of each environment.
    async fn targets(&mut self, context: &SessionContext) -> Result<HashMap<i64, i64>> {
        let sql = "SELECT environment_id, arrow_cast(target, 'Utf8View') AS target FROM environments ORDER BY target";
        let mut numbers = HashMap::new();
        for batch in collect(context, sql).await? {
            let environments = column::numbers::<Int64Type>(&batch, "environment_id")?;
            let targets = column::text(&batch, "target")?;
            for (row, environment) in environments.values().iter().enumerate() {
                let target = column::text_at(targets, row).unwrap_or_default();
                if self.targets.last().is_none_or(|last| last != target) {
                    self.targets.push(target.to_owned());
                }
                let number = i64::try_from(self.targets.len()).unwrap_or(i64::MAX) - 1;
                numbers.insert(*environment, number);
            }
        }
        Ok(numbers)
    }

    /// Target of a task by [`TaskIdentity::Target`].
    pub(super) fn target(&self, key: &TaskKey) -> &str {
        let place = usize::try_from(key.target).ok();
        let target = place.and_then(|place| self.targets.get(place));
        target.map_or("", String::as_str)
    }

    fn take(
        &mut self,
        batch: &RecordBatch,
        matched: &mut MatchedPredictions,
        targets: &HashMap<i64, i64>,
        reading: ReadOptions<'_>,
    ) -> Result<()> {
        let numbers = |name| column::numbers::<Int64Type>(batch, name);
        let times = |name| column::numbers::<Float64Type>(batch, name);
        let (graphs, configs) = (numbers("graph_id")?, numbers("config_id")?);
        let (sources, lines) = (numbers("source_id")?, numbers("line")?);
        let environments = numbers("environment_id")?;
        let platforms = column::text(batch, "platform")?;
        let errors = column::numbers::<Int16Type>(batch, "error_no")?;
        let counts = column::numbers::<Int32Type>(batch, "repeat_count")?;
        let (runtimes, baselines) = (times("runtime_ns")?, times("baseline_ns")?);
        let firsts = times("first_ns")?;
        let mut last: Option<(TaskKey, usize)> = None;
        let mut platform = (String::new(), None);
        let count = |row: usize| {
            let of = |drawn: &EvaluationIndices| drawn.count(sources.value(row), lines.value(row));
            reading.drawn.map_or(1, of)
        };
        // A row is repeated as often as it counts.
        let rows = (0..batch.num_rows()).flat_map(|row| (0..count(row)).map(move |_| row));
        for row in rows {
            let name = platforms.value(row);
            if platform.1.is_none() || platform.0 != name {
                platform = (name.to_owned(), Some(matched.platform_number(name)));
            }
            let key = TaskKey {
                graph_id: graphs.value(row),
                platform: platform.1.unwrap_or_default(),
                target: match reading.by {
                    TaskIdentity::Source => sources.value(row),
                    TaskIdentity::Graph => 0,
                    TaskIdentity::Target => {
                        let target = targets.get(&environments.value(row));
                        target.copied().unwrap_or_default()
                    }
                },
            };
            let place = match &last {
                Some((known, place)) if *known == key => *place,
                _ => self.place(&key),
            };
            let runtime = (errors.value(row) == 0).then(|| column::value(runtimes, row));
            let is_needed = !(reading.spares_failed && runtime.is_none());
            let prediction = matched.prediction_for(configs.value(row), key.platform, is_needed);
            if let Some(task) = self.tasks.get_mut(place) {
                task.rows.push(TaskRecord {
                    runtime_ns: runtime.flatten().unwrap_or(f64::NAN),
                    baseline_ns: column::value(baselines, row).unwrap_or(f64::NAN),
                    first_ns: column::value(firsts, row).unwrap_or(f64::NAN),
                    repeats: counts.value(row),
                    config_id: configs.value(row),
                    source_id: sources.value(row),
                    line: lines.value(row),
                    prediction,
                    is_missing: is_needed && prediction.is_none(),
                });
            }
            last = Some((key, place));
        }
        Ok(())
    }

    fn place(&mut self, key: &TaskKey) -> usize {
        let next = self.tasks.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.tasks.push(Task {
                key: key.clone(),
                rows: Vec::new(),
            });
        }
        place
    }
}

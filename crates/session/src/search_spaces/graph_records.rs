//! Records of autotuners by graph and platform, each compared with the spaces of its kernel.

use arrow::array::RecordBatch;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use tsql_autotuners::{Value, parse_json};
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;

use super::coverage::{SpaceMatch, Verdict};
use super::stated_spaces::StatedSpaces;

/// Configurations in order of graph and platform. Trials of sources without losers come last.
const CONFIGURATIONS: &str = "\
    SELECT t.graph_id, t.platform, t.is_trial, t.is_timed, arrow_cast(c.steps, 'Utf8View') AS configuration, \
      arrow_cast(g.workload_name, 'Utf8View') AS kernel \
    FROM (SELECT r.graph_id, arrow_cast(r.platform, 'Utf8View') AS platform, r.config_id, \
        bool_or(json_text(e.settings, 'coverage') = 'all trials') AS is_trial, bool_or(r.status = 'ok') AS is_timed \
      FROM records AS r JOIN environments AS e ON e.environment_id = r.environment_id \
      WHERE json_text(e.settings, 'coverage') IS NOT NULL AND r.status <> 'unmeasured' \
      GROUP BY r.graph_id, r.platform, r.config_id) AS t \
    JOIN configurations AS c ON c.graph_id = t.graph_id AND c.config_id = t.config_id \
    JOIN graphs AS g ON g.graph_id = t.graph_id \
    ORDER BY t.graph_id, t.platform, t.is_trial DESC";

/// Coverage of a graph on a platform.
#[derive(Debug)]
pub(super) struct GraphCoverage {
    pub graph_id: i64,
    pub platform: String,
    pub verdict: Verdict,
    pub reason: Option<String>,
    /// Space that the counts below refer to.
    pub space_source_id: Option<i64>,
    pub valid_count: Option<i64>,
    pub cartesian_count: Option<i64>,
    /// Configurations, those with a time, and those outside of the space.
    pub configs: i64,
    pub timed: i64,
    pub outside: Option<i64>,
}

/// Compares all records of autotuners with the spaces of a store.
pub(super) async fn read_coverage(context: &SessionContext) -> Result<Vec<GraphCoverage>> {
    let spaces = StatedSpaces::read(context).await?;
    let frame = plan_query(context, CONFIGURATIONS).await?;
    let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
    let mut reader = CoverageReader {
        spaces: &spaces,
        current: None,
        found: Vec::new(),
    };
    while let Some(batch) = stream.next().await {
        reader.read_batch(&batch.map_err(Error::Query)?)?;
    }
    reader.finish_graph();
    Ok(reader.found)
}

/// Reads configurations, ordered by graph and platform.
struct CoverageReader<'a> {
    spaces: &'a StatedSpaces,
    current: Option<CurrentGraph<'a>>,
    found: Vec<GraphCoverage>,
}

/// The graph and platform that are being read.
struct CurrentGraph<'a> {
    key: (i64, String),
    has_trials: bool,
    configs: i64,
    timed: i64,
    matches: Vec<SpaceMatch<'a>>,
}

impl CoverageReader<'_> {
    fn read_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let graphs = column::numbers::<Int64Type>(batch, "graph_id")?;
        let [platforms, configurations, kernels] =
            ["platform", "configuration", "kernel"].map(|name| column::text(batch, name));
        let (platforms, configurations, kernels) = (platforms?, configurations?, kernels?);
        let [trials, timed] = ["is_trial", "is_timed"].map(|name| column::flags(batch, name));
        let (trials, timed) = (trials?, timed?);
        for row in 0..batch.num_rows() {
            let key = (graphs.value(row), platforms.value(row));
            let is_current =
                |current: &CurrentGraph| (current.key.0, current.key.1.as_str()) == key;
            let is_known = self.current.as_ref().is_some_and(is_current);
            let configuration = column::text_at(configurations, row).and_then(parse_json);
            if !is_known {
                self.finish_graph();
                let kernel = column::text_at(kernels, row).unwrap_or_default();
                let candidates = self
                    .spaces
                    .of_kernel(kernel, &parameter_names(configuration.as_ref()));
                self.current = Some(CurrentGraph {
                    key: (key.0, key.1.to_owned()),
                    has_trials: trials.value(row),
                    configs: 0,
                    timed: 0,
                    matches: candidates.into_iter().map(SpaceMatch::new).collect(),
                });
            }
            let Some(current) = &mut self.current else {
                continue;
            };
            // Winners say nothing about a space that other sources have searched.
            if current.has_trials && !trials.value(row) {
                continue;
            }
            current.configs += 1;
            current.timed += i64::from(timed.value(row));
            if current.has_trials {
                let configuration = configuration.unwrap_or(Value::Null);
                current
                    .matches
                    .iter_mut()
                    .for_each(|found| found.add(&configuration));
            }
        }
        Ok(())
    }

    fn finish_graph(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let (graph_id, platform) = current.key;
        let best = current.matches.into_iter().filter(|_| current.has_trials);
        let best = best.max_by_key(SpaceMatch::preference);
        let verdict = match &best {
            _ if !current.has_trials => Verdict::Winners,
            Some(best) if best.is_exhaustive() => Verdict::Exhaustive,
            _ => Verdict::Searched,
        };
        let reason = match (&best, verdict) {
            (_, Verdict::Winners) => {
                Some("the sources state only the best configurations".to_owned())
            }
            (Some(best), _) => best.reason(),
            (None, _) => {
                Some("no source states a space for this kernel and its parameters".to_owned())
            }
        };
        self.found.push(GraphCoverage {
            graph_id,
            platform,
            verdict,
            reason,
            space_source_id: best.as_ref().map(|best| best.stated.source_id),
            valid_count: best.as_ref().and_then(|best| best.stated.valid_count),
            cartesian_count: best.as_ref().map(|best| best.stated.cartesian_count),
            configs: current.configs,
            timed: current.timed,
            outside: best.as_ref().map(|best| best.outside),
        });
    }
}

/// Names of the parameters of a configuration.
fn parameter_names(configuration: Option<&Value>) -> Vec<String> {
    let fields = configuration.and_then(Value::as_object);
    let names = fields.into_iter().flatten().map(|(name, _)| name.clone());
    names.collect()
}

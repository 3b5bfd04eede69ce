//! The engine: DataFusion with the settings and rules that its answers depend on.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::common::config::{ConfigField as _, ConfigNonZeroUsize, ConfigOptions, Dialect};
use datafusion::common::format::MetricType;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::DataFusionError;
#[cfg(feature = "cluster")]
use datafusion::execution::SessionState;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::{LogicalPlan, Statement};
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::{SessionConfig, SessionContext};
use tsql_folders::Scratch;

use super::copy_to::CopiesWhole;
use super::files::{CatchPanics, with_files};
use super::functions;
use super::limits::{Limits, SharedRuntime};
use super::relations::OfQueries;
use super::rules::{self, LocalPlanner, NamingPlanner};
use super::upstream_workarounds::{self, WindowFilters};
use crate::error::{Error, Result};
use crate::store::{LISTED, Settings};

/// Rows that operators hand on at a time: windows over a graph of 4,000 programs are a quarter
/// faster than with half as many.
const BATCH_ROWS: usize = 1 << 14;

/// Part of a memory limit that each sort keeps free for merging what it has spilled, and by which a thread that reads sorted files may be
/// ahead: there may be one in each thread, on each side of joins.
const RESERVED_PART: usize = 64;

/// Bytes by which a thread that reads sorted files may be ahead of their merge. DataFusion's gigabyte does not stop
/// where memory does: a question fails.
const AHEAD_BYTES: usize = 32 << 20;

/// Who holds most memory is told where there is not enough.
const TOLD: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Settings of DataFusion that make answers wrong, and how.
///
/// - With the first, `max(a), max(b)` lose rows where a file has no value of `a`: the filter that
///   follows the extremes leaves out an aggregate that has seen only NULL.
/// - With the second, other windows beside `row_number()` see only the first rows of a partition.
///   [`partition_top_k`](super::partition_top_k) drops only rows that no window looks at.
/// - With the third, a column of a Parquet file is one value in all rows where its least and its greatest value are equal,
///   though Parquet leaves NaN out of both; and `max(x)` is the greatest that is not NaN.
const OFF: [&str; 3] = [
    "datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown",
    "datafusion.optimizer.enable_window_topn",
    "datafusion.execution.collect_statistics",
];

/// A session without tables.
pub(super) fn engine(limits: impl Into<Limits>) -> Result<SessionContext> {
    let limits = limits.into();
    let builder = builder(&limits, true)?
        .with_physical_optimizer_rule(Arc::new(CatchPanics))
        .with_query_planner(Arc::new(NamingPlanner(Arc::new(LocalPlanner))));
    Ok(context(builder, &limits))
}

/// A session that was set up by [`builder`], with what SQL finds by its name.
pub(super) fn context(builder: SessionStateBuilder, limits: &Limits) -> SessionContext {
    let context = SessionContext::new_with_state(builder.build());
    let context = match limits.store_only {
        true => context,
        false => with_files(context),
    };
    functions::register(&context);
    context
}

/// The settings and rules of a session. `is_local`: whether it has no workers.
pub(super) fn builder(limits: &Limits, is_local: bool) -> Result<SessionStateBuilder> {
    let config = SessionConfig::from(settings(limits)?)
        .with_information_schema(true)
        .with_default_catalog_and_schema("tsql", "public")
        .with_create_default_catalog_and_schema(true)
        .with_option_extension(Settings::of_environment(rules::switches())?);
    let SharedRuntime { runtime, spilled } = match &limits.shared {
        Some(shared) => shared.clone(),
        None => shared(limits.pool_bytes())?,
    };
    let config = match spilled {
        // It goes away with the last session that has it.
        Some(spilled) => config.with_extension(spilled),
        None => config,
    };
    let state = SessionStateBuilder::new()
        .with_runtime_env(runtime)
        .with_config(config)
        .with_default_features()
        .with_analyzer_rule(Arc::new(SettingsStayOff))
        .with_analyzer_rule(Arc::new(CopiesWhole))
        .with_analyzer_rule(Arc::new(WindowFilters));
    let mut state = upstream_workarounds::planners(rules::assembled(state, is_local, limits));
    let planners = state.relation_planners().get_or_insert_default();
    planners.push(Arc::new(OfQueries));
    Ok(state)
}

/// Memory for several sessions.
pub(super) fn shared(memory_limit_bytes: Option<usize>) -> Result<SharedRuntime> {
    let (runtime, spilled) = runtime(memory_limit_bytes)?;
    let spilled = spilled.map(Arc::new);
    Ok(SharedRuntime { runtime, spilled })
}

/// What queries share: memory, and the folder of what does not fit, which only this user looks into.
pub(crate) fn runtime(
    memory_limit_bytes: Option<usize>,
) -> Result<(Arc<RuntimeEnv>, Option<Scratch>)> {
    let mut runtime = RuntimeEnvBuilder::new();
    let mut spilled = None;
    if let Some(bytes) = memory_limit_bytes {
        let scratch = Scratch::new()?;
        let folder = DiskManagerMode::Directories(vec![scratch.path().to_owned()]);
        let disk = DiskManagerBuilder::default().with_mode(folder);
        runtime = runtime
            .with_memory_pool(Arc::new(TrackConsumersPool::new(
                FairSpillPool::new(bytes),
                TOLD,
            )))
            .with_disk_manager_builder(disk);
        spilled = Some(scratch);
    }
    let runtime = runtime.build().map_err(Error::Query)?;
    Ok((Arc::new(runtime), spilled))
}

/// The session of a part of a question that another machine has planned: what plans name is there, and settings are those of
/// any session. Of `given` stay its runtime, and what the configuration brings along.
#[cfg(feature = "cluster")]
pub(crate) fn of_part(
    mut given: SessionStateBuilder,
    memory_limit_bytes: Option<usize>,
) -> Result<SessionState> {
    let mut config = given.config().take().unwrap_or_default();
    let mut options = settings(&memory_limit_bytes.into())?;
    options.extensions = config.options().extensions.clone();
    *config.options_mut() = options;
    let context = SessionContext::new_with_state(given.with_config(config).build());
    functions::register(&context);
    Ok(context.state())
}

/// DataFusion's settings: those of the environment (`DATAFUSION_...`), then ours.
fn settings(limits: &Limits) -> Result<ConfigOptions> {
    let mut options = ConfigOptions::from_env().map_err(Error::Query)?;
    for name in OFF {
        let variable = name.to_ascii_uppercase().replace('.', "_");
        let wanted = std::env::var(&variable).unwrap_or_default();
        if wanted.eq_ignore_ascii_case("true") {
            return Err(wrong_answers(&variable));
        }
        options.set(name, "false").map_err(Error::Query)?;
    }
    options.execution.parquet.reorder_filters = true;
    options.execution.parquet.max_in_list_size = LISTED;
    options.execution.batch_size = ConfigNonZeroUsize::try_new(BATCH_ROWS).map_err(Error::Query)?;
    // Failed records have no runtime: whoever asks for the slowest does not mean them.
    options.sql_parser.default_null_ordering = "nulls_last".to_owned();
    options.sql_parser.dialect = Dialect::PostgreSQL;
    // What people can act on; `SET datafusion.explain.analyze_level = 'dev'` has the rest.
    options.explain.analyze_level = MetricType::Summary;
    // Mistakes are shown where they are.
    options.sql_parser.collect_spans = true;
    if let Some(threads) = limits.threads {
        options.execution.target_partitions = threads;
    }
    options.execution.sort_pushdown_buffer_capacity = AHEAD_BYTES;
    if let Some(bytes) = limits.pool_bytes() {
        let reserved = &mut options.execution.sort_spill_reservation_bytes;
        *reserved = (*reserved).min(bytes / RESERVED_PART);
        let ahead = &mut options.execution.sort_pushdown_buffer_capacity;
        *ahead = (*ahead).min(bytes / RESERVED_PART);
    }
    Ok(options)
}

/// Checks that the settings of [`OFF`] are off.
///
/// # Errors
/// [`Error::Refused`] for one that is on.
fn check_off(options: &ConfigOptions) -> Result<()> {
    let is_on = [
        options.optimizer.enable_aggregate_dynamic_filter_pushdown,
        options.optimizer.enable_window_topn,
        options.execution.collect_statistics,
    ];
    match OFF.iter().zip(is_on).find(|(_, is_on)| *is_on) {
        Some((name, _)) => Err(wrong_answers(name)),
        None => Ok(()),
    }
}

/// Checks that no statement of a plan changes a setting on which results rest, whatever it calls it: some settings change
/// others with them.
///
/// # Errors
/// [`Error::Refused`] for one that does.
pub(super) fn check_changes(plan: &LogicalPlan, options: &ConfigOptions) -> Result<()> {
    let mut checked = Ok(());
    let visited = plan.apply(|node| {
        let mut changed = options.clone();
        let is_known = match node {
            LogicalPlan::Statement(Statement::SetVariable(set)) => {
                changed.set(&set.variable, &set.value).is_ok()
            }
            LogicalPlan::Statement(Statement::ResetVariable(reset)) => {
                changed.reset(&reset.variable).is_ok()
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        if is_known {
            checked = check_off(&changed);
        }
        Ok(match &checked {
            Ok(()) => TreeNodeRecursion::Continue,
            Err(_) => TreeNodeRecursion::Stop,
        })
    });
    visited.map_err(Error::Query)?;
    checked
}

/// Plans nothing while a setting of [`OFF`] is on, however it was changed.
#[derive(Debug)]
struct SettingsStayOff;

impl AnalyzerRule for SettingsStayOff {
    fn name(&self) -> &'static str {
        "settings_stay_off"
    }

    fn analyze(
        &self,
        plan: LogicalPlan,
        options: &ConfigOptions,
    ) -> datafusion::error::Result<LogicalPlan> {
        let checked = check_off(options);
        checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(plan)
    }
}

fn wrong_answers(name: &str) -> Error {
    Error::Refused(format!(
        "`{name}` stays off: with it some answers are wrong"
    ))
}

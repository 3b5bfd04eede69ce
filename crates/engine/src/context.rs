//! The engine: DataFusion with the settings and rules that tsql depends on.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::common::config::{ConfigField as _, ConfigNonZeroUsize, ConfigOptions, Dialect};
use datafusion::common::format::MetricType;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{LogicalPlan, Statement};
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::{SessionConfig, SessionContext};
use tsql_folders::Scratch;

use crate::files::copy_to::AtomicCopy;
use crate::files::{CatchPanics, with_files};
use crate::limits::{Limits, SharedRuntime};
use crate::relations::QueryRelationPlanner;
use crate::rules;
use crate::rules::{ExplainRulesPlanner, LocalPlanner};
use crate::workarounds;
use crate::workarounds::WindowFilters;
use tsql_error::{Error, Result};
use tsql_store::{LISTED, Settings};

/// Number of rows per batch. Window functions over a graph of 4,000 programs are a quarter faster than with half as
/// many rows.
const BATCH_ROWS: usize = 1 << 14;

/// Fraction of the memory limit (1/64) that each sort reserves for merging its spilled runs. It also limits how far a
/// thread that reads sorted files may be ahead of the merge. There may be one such sort or read per thread and per join
/// side.
const RESERVED_FRACTION: usize = 64;

/// Bytes by which a thread that reads sorted files may be ahead of the merge. DataFusion's default of 1 GiB ignores the
/// memory limit, so queries would fail.
const READ_AHEAD_BYTES: usize = 32 << 20;

/// Number of largest memory consumers that an out-of-memory error reports.
const REPORTED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Settings of DataFusion that cause wrong results, and must be off.
///
/// - The first loses rows of `max(a), max(b)` if a file has no value of `a`: the dynamic filter of the extremes ignores
///   an aggregate that has seen only NULL.
/// - The second passes only the first rows of a partition to other windows beside `row_number()`.
///   [`partition_top_k`](crate::operators::partition_top_k) drops only rows that no window reads.
/// - The third treats a Parquet column as constant if its minimum equals its maximum, although Parquet excludes NaN
///   from both. It also makes `max(x)` the maximum of the values that are not NaN.
const DISABLED_SETTINGS: [&str; 3] = [
    "datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown",
    "datafusion.optimizer.enable_window_topn",
    "datafusion.execution.collect_statistics",
];

/// Creates a session without tables.
pub fn new_context(limits: impl Into<Limits>) -> Result<SessionContext> {
    let limits = limits.into();
    let builder = session_builder(&limits, true)?
        .with_physical_optimizer_rule(Arc::new(CatchPanics))
        .with_query_planner(Arc::new(ExplainRulesPlanner(Arc::new(LocalPlanner))));
    Ok(build_context(builder, &limits))
}

/// Creates a session from a [`session_builder`], and registers files and functions.
pub fn build_context(builder: SessionStateBuilder, limits: &Limits) -> SessionContext {
    let context = SessionContext::new_with_state(builder.build());
    let context = match limits.store_only {
        true => context,
        false => with_files(context),
    };
    tsql_functions::register(&context);
    context
}

/// Settings and rules of a session. `is_local` is true if the session has no workers.
pub fn session_builder(limits: &Limits, is_local: bool) -> Result<SessionStateBuilder> {
    let config = SessionConfig::from(config_options(limits)?)
        .with_information_schema(true)
        .with_default_catalog_and_schema("tsql", "public")
        .with_create_default_catalog_and_schema(true)
        .with_option_extension(Settings::from_env(rules::switches())?);
    let SharedRuntime { runtime, spilled } = match &limits.shared {
        Some(shared) => shared.clone(),
        None => shared_runtime(limits.memory_pool_bytes())?,
    };
    let config = match spilled {
        // The folder is removed with the last session that uses it.
        Some(spilled) => config.with_extension(spilled),
        None => config,
    };
    let state = SessionStateBuilder::new()
        .with_runtime_env(runtime)
        .with_config(config)
        .with_default_features()
        .with_analyzer_rule(Arc::new(DisabledSettingsCheck))
        .with_analyzer_rule(Arc::new(AtomicCopy))
        .with_analyzer_rule(Arc::new(WindowFilters));
    let mut state = workarounds::planners(rules::with_rules(state, is_local, limits));
    let planners = state.relation_planners().get_or_insert_default();
    planners.push(Arc::new(QueryRelationPlanner));
    Ok(state)
}

/// Creates a memory pool that several sessions share.
pub fn shared_runtime(memory_limit_bytes: Option<usize>) -> Result<SharedRuntime> {
    let (runtime, spilled) = build_runtime(memory_limit_bytes)?;
    let spilled = spilled.map(Arc::new);
    Ok(SharedRuntime { runtime, spilled })
}

/// Creates the runtime of queries: the memory pool and the folder of spilled data, which only this user can read.
pub fn build_runtime(
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
                REPORTED_CONSUMERS,
            )))
            .with_disk_manager_builder(disk);
        spilled = Some(scratch);
    }
    let runtime = runtime.build().map_err(Error::Query)?;
    Ok((Arc::new(runtime), spilled))
}

/// Session state of a worker, which executes one stage of a query that another machine has planned.
///
/// All names in the plan resolve, and the settings are those of any session. Of `given`, the runtime and the
/// configuration extensions remain.
pub fn worker_state(
    mut given: SessionStateBuilder,
    memory_limit_bytes: Option<usize>,
) -> Result<SessionState> {
    let mut config = given.config().take().unwrap_or_default();
    let mut options = config_options(&memory_limit_bytes.into())?;
    options.extensions = config.options().extensions.clone();
    *config.options_mut() = options;
    let context = SessionContext::new_with_state(given.with_config(config).build());
    tsql_functions::register(&context);
    Ok(context.state())
}

/// DataFusion's settings: environment variables (`DATAFUSION_...`) first, then those of tsql.
fn config_options(limits: &Limits) -> Result<ConfigOptions> {
    let mut options = ConfigOptions::from_env().map_err(Error::Query)?;
    for name in DISABLED_SETTINGS {
        let variable = name.to_ascii_uppercase().replace('.', "_");
        let wanted = std::env::var(&variable).unwrap_or_default();
        if wanted.eq_ignore_ascii_case("true") {
            return Err(disabled_setting_error(&variable));
        }
        options.set(name, "false").map_err(Error::Query)?;
    }
    options.execution.parquet.reorder_filters = true;
    options.execution.parquet.max_in_list_size = LISTED;
    // It renames fields of structs below aliases, and join keys with such fields fail: `workarounds/tests.rs`.
    options.optimizer.enable_leaf_expression_pushdown = false;
    options.execution.batch_size = ConfigNonZeroUsize::try_new(BATCH_ROWS).map_err(Error::Query)?;
    // Failed records have no runtime, and a query for the slowest programs does not mean them.
    options.sql_parser.default_null_ordering = "nulls_last".to_owned();
    options.sql_parser.dialect = Dialect::PostgreSQL;
    // Metrics that users can act on; `SET datafusion.explain.analyze_level = 'dev'` shows the rest.
    options.explain.analyze_level = MetricType::Summary;
    // Error messages show the position in the SQL text.
    options.sql_parser.collect_spans = true;
    if let Some(threads) = limits.threads {
        options.execution.target_partitions = threads;
    }
    options.execution.sort_pushdown_buffer_capacity = READ_AHEAD_BYTES;
    if let Some(bytes) = limits.memory_pool_bytes() {
        let reserved = &mut options.execution.sort_spill_reservation_bytes;
        *reserved = (*reserved).min(bytes / RESERVED_FRACTION);
        let ahead = &mut options.execution.sort_pushdown_buffer_capacity;
        *ahead = (*ahead).min(bytes / RESERVED_FRACTION);
    }
    Ok(options)
}

/// Checks that the [`DISABLED_SETTINGS`] are off.
///
/// # Errors
/// [`Error::Refused`] for one that is on.
fn check_disabled_settings(options: &ConfigOptions) -> Result<()> {
    let is_on = [
        options.optimizer.enable_aggregate_dynamic_filter_pushdown,
        options.optimizer.enable_window_topn,
        options.execution.collect_statistics,
    ];
    match DISABLED_SETTINGS
        .iter()
        .zip(is_on)
        .find(|(_, is_on)| *is_on)
    {
        Some((name, _)) => Err(disabled_setting_error(name)),
        None => Ok(()),
    }
}

/// Checks that no statement of a plan changes a setting that correct results depend on, under any name. Some settings
/// change others with them.
///
/// # Errors
/// [`Error::Refused`] for a statement that does.
pub fn check_setting_changes(plan: &LogicalPlan, options: &ConfigOptions) -> Result<()> {
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
            checked = check_disabled_settings(&changed);
        }
        Ok(match &checked {
            Ok(()) => TreeNodeRecursion::Continue,
            Err(_) => TreeNodeRecursion::Stop,
        })
    });
    visited.map_err(Error::Query)?;
    checked
}

/// Rejects all plans while one of the [`DISABLED_SETTINGS`] is on, however it was changed.
#[derive(Debug)]
struct DisabledSettingsCheck;

impl AnalyzerRule for DisabledSettingsCheck {
    fn name(&self) -> &'static str {
        "fixed_settings"
    }

    fn analyze(
        &self,
        plan: LogicalPlan,
        options: &ConfigOptions,
    ) -> datafusion::error::Result<LogicalPlan> {
        let checked = check_disabled_settings(options);
        checked.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(plan)
    }
}

fn disabled_setting_error(name: &str) -> Error {
    Error::Refused(format!(
        "`{name}` cannot be enabled, because it makes some results wrong"
    ))
}

//! A selection: the rows of a query over one version of a store, in a stable order.
//!
//! A query is planned for one thread, so that unordered rows come in file order. If the plan has several
//! partitions whose rows arrive in any order (`UNION ALL` below another node), the query must sort.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionContext;
use tsql_dialect::placeholders::match_placeholders;
use tsql_dialect::statement;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_session::{SessionOptions, open_session_at};
use tsql_store::{Snapshots, Store};
use twox_hash::XxHash3_128;

use super::options::RowsOptions;
use super::row_numbers::sort_with_row_numbers;

/// Memory limit of sorts and aggregates; beyond it they spill to temporary files. It is a constant, because the
/// order of rows without ORDER BY may depend on it.
const MEMORY_BYTES: usize = 1 << 30;

/// A planned query.
pub(super) struct Selection {
    pub(super) context: SessionContext,
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// Schema of the requested rows: the plan may have an additional last column.
    pub(super) schema: SchemaRef,
    /// Index of the group column.
    pub(super) group: Option<usize>,
    /// Index of the column whose values take turns.
    pub(super) family: Option<usize>,
    /// Hash of all inputs of the rows; `None` if they depend on data outside of the store.
    pub(super) key: Option<String>,
}

impl Selection {
    /// Plans the single query in `sql`.
    pub(super) async fn plan_query(
        store: &Store,
        sql: &str,
        options: &RowsOptions,
    ) -> Result<Self> {
        Self::plan_with_memory(store, sql, options, MEMORY_BYTES).await
    }

    /// Plans the query with this memory limit; the query must order all its rows.
    pub(super) async fn plan_with_memory(
        store: &Store,
        sql: &str,
        options: &RowsOptions,
        memory_bytes: usize,
    ) -> Result<Self> {
        match_placeholders(sql, &options.parameters)?;
        let limits = SessionOptions::default()
            .sql(sql)
            .threads(1)
            .memory_limit_bytes(memory_bytes);
        let (context, snapshots) = open_session_at(store, &limits).await?;
        let mut statements = statement::parse_statements(sql)?;
        let refused = |what: &str| Error::Refused(format!("training rows need one query: {what}"));
        let Some(first) = statements.pop_front() else {
            return Err(refused("the text has none"));
        };
        if !statements.is_empty() {
            return Err(refused("the text has several statements"));
        }
        let given = &options.parameters;
        let frame = statement::plan_with_values(&context, first, sql, given).await?;
        let is_known = is_reproducible(frame.logical_plan())?;
        let schema = Arc::clone(frame.schema().inner());
        let group = column_index(&schema, options.group.as_deref())?;
        let family = column_index(&schema, options.balance.as_deref())?;
        let mut plan = frame.create_physical_plan().await.map_err(Error::Query)?;
        require_stable_order(&plan)?;
        let by: Vec<&str> = [&options.balance, &options.group]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !by.is_empty() {
            let sorted = sort_with_row_numbers(&context, plan, &by).await;
            plan = sorted.map_err(Error::Query)?;
        }
        Ok(Self {
            key: is_known.then(|| selection_key(&snapshots, sql, options)),
            context,
            plan,
            schema,
            group,
            family,
        })
    }
}

fn column_index(schema: &SchemaRef, name: Option<&str>) -> Result<Option<usize>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let unknown = |_| {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        Error::Unknown {
            kind: "column of the selection",
            name: name.to_owned(),
            known: names.collect::<Vec<_>>().join(", "),
        }
    };
    schema.index_of(name).map(Some).map_err(unknown)
}

/// Returns true if the rows depend only on the store and the query.
///
/// # Errors
/// [`Error::Refused`] for SQL that is not a query, and for a query whose result differs each time.
fn is_reproducible(plan: &LogicalPlan) -> Result<bool> {
    let mut is_known = true;
    let mut refused = None;
    let walked = plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::Ddl(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_) => {
                refused = Some(
                    "training rows need a query, found a statement that changes or \
                    explains data"
                        .to_owned(),
                );
            }
            LogicalPlan::TableScan(scan) => is_known &= is_stored(scan.table_name.table()),
            _ => {}
        }
        for expression in node.expressions() {
            let found = expression.exists(|one| {
                is_known &= is_immutable(one);
                Ok(one.is_volatile_node())
            })?;
            if found {
                refused = Some(format!(
                    "`{expression}` has another value in each run, so rows cannot be identified\n\
                     hint: the loader shuffles the rows, see options.seed(7)"
                ));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(Error::Query)?;
    refused.map_or(Ok(is_known), |reason| Err(Error::Refused(reason)))
}

/// Returns true if a table belongs to the store. Other files that SQL can name may change.
fn is_stored(name: &str) -> bool {
    let derived = ["all_records", "all_runs"];
    derived.contains(&name) || schema::table(name).is_ok() || schema::relation(name).is_some()
}

/// False for `now()` and similar functions, which are constant only within one query.
fn is_immutable(expression: &Expr) -> bool {
    match expression {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
        _ => true,
    }
}

/// # Errors
/// [`Error::Refused`] if rows arrive in any order.
fn require_stable_order(root: &Arc<dyn ExecutionPlan>) -> Result<()> {
    if root.output_ordering().is_some() {
        return Ok(());
    }
    let mut mixed = false;
    let walked = root.apply(|node| {
        let children = node.children();
        let several = children
            .iter()
            .any(|child| child.output_partitioning().partition_count() > 1);
        // A node with as many output partitions as input partitions keeps them apart.
        mixed |= several && node.output_partitioning().partition_count() == 1;
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(Error::Query)?;
    if mixed {
        let reason = "the order of the rows of this query is not deterministic\n\
            hint: add ORDER BY columns that identify the rows";
        return Err(Error::Refused(reason.to_owned()));
    }
    Ok(())
}

/// Hashes all inputs of the rows to 32 hexadecimal digits: the immutable data files of all tables of the query,
/// its text and parameters, the group, and the program version.
fn selection_key(snapshots: &Snapshots, sql: &str, options: &RowsOptions) -> String {
    let mut text = format!("tsql-rows-1\0{}\0", env!("CARGO_PKG_VERSION"));
    let mut add = |part: &str| text += &format!("{}:{part}\0", part.len());
    add(sql);
    for (name, value) in &options.parameters {
        add(name);
        add(value);
    }
    add(&format!("{:?}", options.group));
    if let Some(family) = &options.balance {
        add(&format!("balance {family:?}"));
    }
    for (table, snapshot) in snapshots {
        add(table);
        for file in snapshot.files().iter() {
            add(&file.path);
            add(&file.size_bytes.to_string());
        }
    }
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}

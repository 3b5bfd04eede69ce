//! What a selection is: the rows of a query over a store as it is now, in an order that is always the same.
//!
//! A query is planned for one thread, so that what has no order of its own comes in that of the files. Where the plan
//! has several parts whose rows come as they are ready (`UNION ALL` below something else), the query must sort.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionContext;
use twox_hash::XxHash3_128;

use super::numbered::together;
use super::options::RowsOptions;
use crate::error::{Error, Result};
use crate::query::{SessionOptions, match_placeholders, statement};
use crate::schema;
use crate::store::{Snapshots, Store};

/// Memory of the sorts and groups of a selection; the rest goes to temporary files. A constant: the order of rows that
/// a query does not say may depend on it.
const MEMORY_BYTES: usize = 1 << 30;

/// A query that is ready to run.
pub(super) struct Selection {
    pub(super) context: SessionContext,
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// That of the rows that are asked for: the plan may have one column more, the last.
    pub(super) schema: SchemaRef,
    /// Place of the column that says which rows belong together.
    pub(super) group: Option<usize>,
    /// Place of the column whose values take turns.
    pub(super) family: Option<usize>,
    /// What the rows follow from; `None` where they follow from more than the store has.
    pub(super) key: Option<String>,
}

impl Selection {
    /// Plans the one query that `sql` is.
    pub(super) async fn of(store: &Store, sql: &str, options: &RowsOptions) -> Result<Self> {
        Self::within(store, sql, options, MEMORY_BYTES).await
    }

    /// The same with this much memory, for a query that says the order of all its rows.
    pub(super) async fn within(
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
        let (context, snapshots) = store.session_at(&limits).await?;
        let mut statements = statement::statements(sql)?;
        let refused =
            |what: &str| Error::Refused(format!("training rows are those of one query: {what}"));
        let Some(first) = statements.pop_front() else {
            return Err(refused("there is none"));
        };
        if !statements.is_empty() {
            return Err(refused("there are several statements"));
        }
        let given = &options.parameters;
        let frame = statement::planned_with(&context, first, sql, given).await?;
        let is_known = looked_at(frame.logical_plan())?;
        let schema = Arc::clone(frame.schema().inner());
        let group = place_of(&schema, options.group.as_deref())?;
        let family = place_of(&schema, options.balance.as_deref())?;
        let mut plan = frame.create_physical_plan().await.map_err(Error::Query)?;
        ordered(&plan)?;
        let by: Vec<&str> = [&options.balance, &options.group]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        if !by.is_empty() {
            let sorted = together(&context, plan, &by).await;
            plan = sorted.map_err(Error::Query)?;
        }
        Ok(Self {
            key: is_known.then(|| key(&snapshots, sql, options)),
            context,
            plan,
            schema,
            group,
            family,
        })
    }
}

fn place_of(schema: &SchemaRef, name: Option<&str>) -> Result<Option<usize>> {
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

/// Do the rows follow from the store and the query alone?
///
/// # Errors
/// [`Error::Refused`] for what is no query, and for one that answers otherwise each time.
fn looked_at(plan: &LogicalPlan) -> Result<bool> {
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
                refused = Some("training rows are those of a query, which changes nothing".to_owned());
            }
            LogicalPlan::TableScan(scan) => is_known &= is_stored(scan.table_name.table()),
            _ => {}
        }
        for expression in node.expressions() {
            let found = expression.exists(|one| {
                is_known &= is_fixed(one);
                Ok(one.is_volatile_node())
            })?;
            if found {
                refused = Some(format!(
                    "`{expression}` is another value each time: rows could not be found again\nhint: the loader shuffles by itself, options.seed(7)"
                ));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(Error::Query)?;
    refused.map_or(Ok(is_known), |reason| Err(Error::Refused(reason)))
}

/// Is a table one of the store? Files of others, which SQL can name, may change.
fn is_stored(name: &str) -> bool {
    let derived = ["all_records", "all_runs"];
    derived.contains(&name) || schema::table(name).is_ok() || schema::relation(name).is_some()
}

/// Not `now()` and the like, which are one value in one question.
fn is_fixed(expression: &Expr) -> bool {
    match expression {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
        _ => true,
    }
}

/// # Errors
/// [`Error::Refused`] where rows come as they are ready.
fn ordered(root: &Arc<dyn ExecutionPlan>) -> Result<()> {
    if root.output_ordering().is_some() {
        return Ok(());
    }
    let mut mixed = false;
    let walked = root.apply(|node| {
        let children = node.children();
        let several = children
            .iter()
            .any(|child| child.output_partitioning().partition_count() > 1);
        // What has as many parts as what it takes keeps them apart.
        mixed |= several && node.output_partitioning().partition_count() == 1;
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(Error::Query)?;
    if mixed {
        let reason = "the rows of this query come in another order each time\nhint: ORDER BY what tells them apart";
        return Err(Error::Refused(reason.to_owned()));
    }
    Ok(())
}

/// What the rows follow from, as 32 digits: the data files of all tables that the query reads, which are never changed,
/// its text and parameters, the group, and this program.
fn key(snapshots: &Snapshots, sql: &str, options: &RowsOptions) -> String {
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

//! Plans over pre-aggregates, whose rows stand for several rows each.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{Column, JoinType, Result, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, TableScan,
};

use tsql_store::{RollupTable, StoredTable, rollup};

/// A plan over pre-aggregates that replaces one over rows.
pub(super) struct RollupPlan {
    pub(super) plan: LogicalPlan,
    /// Column with the number of rows that a row stands for.
    pub(super) rows: Column,
    /// Whether no row of the table was dropped or duplicated.
    pub(super) whole: bool,
    /// Measures by their column in this plan.
    measures: HashMap<Column, Measure>,
}

/// A column for which there are only sums, minima and maxima.
#[derive(Clone)]
pub(super) struct Measure {
    pub(super) sum: Column,
    pub(super) least: Column,
    pub(super) greatest: Column,
    pub(super) missing: Column,
}

impl Measure {
    fn new(table: &TableReference, name: &str) -> Self {
        let column = |name: String| Column::new(Some(table.clone()), name);
        Self {
            sum: column(rollup::sum_column(name)),
            least: column(rollup::min_column(name)),
            greatest: column(rollup::max_column(name)),
            missing: column(rollup::is_null_column(name)),
        }
    }

    fn columns(&self) -> [&Column; 4] {
        [&self.sum, &self.least, &self.greatest, &self.missing]
    }

    fn with_qualifier(&self, alias: &TableReference) -> Self {
        let named = |column: &Column| Column::new(Some(alias.clone()), &column.name);
        Self {
            sum: named(&self.sum),
            least: named(&self.least),
            greatest: named(&self.greatest),
            missing: named(&self.missing),
        }
    }
}

impl RollupPlan {
    /// Returns the measure of a column expression.
    pub(super) fn measure(&self, expr: &Expr) -> Option<&Measure> {
        match expr {
            Expr::Column(column) => self.measures.get(column),
            Expr::Alias(alias) => self.measure(&alias.expr),
            _ => None,
        }
    }

    /// Returns `expr` over the columns of this plan if it reads only labels; `None` otherwise. Whether a measure is
    /// NULL counts as a label.
    pub(super) fn over_labels(&self, expr: &Expr) -> Result<Option<Expr>> {
        if expr.is_volatile() || expr.exists(|part| Ok(is_subquery(part)))? {
            return Ok(None);
        }
        let replaced = expr.clone().transform_up(|part| {
            let missing = |of: &Expr| Some(Expr::Column(self.measure(of)?.missing.clone()));
            let label = match &part {
                Expr::IsNull(of) => missing(of),
                Expr::IsNotNull(of) => missing(of).map(|missing| !missing),
                _ => None,
            };
            Ok(label.map_or_else(|| Transformed::no(part), Transformed::yes))
        })?;
        let schema = self.plan.schema();
        let mut columns = replaced.data.column_refs().into_iter();
        let known = columns.all(|column| schema.has_column(column));
        Ok(known.then_some(replaced.data))
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
    )
}

/// Rewrites a plan to pre-aggregates, without the columns that have none. Returns `None` if the plan reads single rows.
pub(super) fn plan_over_rollups(plan: &LogicalPlan) -> Result<Option<RollupPlan>> {
    match plan {
        LogicalPlan::TableScan(plan) => scan(plan),
        LogicalPlan::Filter(plan) => filter(plan),
        LogicalPlan::Projection(plan) => projection(plan),
        LogicalPlan::SubqueryAlias(plan) => alias(plan),
        LogicalPlan::Join(plan) => join(plan),
        _ => Ok(None),
    }
}

fn scan(scan: &TableScan) -> Result<Option<RollupPlan>> {
    let Ok(provider) = source_as_provider(&scan.source) else {
        return Ok(None);
    };
    let provider: &dyn Any = provider.as_ref();
    let sums = provider.downcast_ref::<StoredTable>();
    let Some(sums) = sums
        .and_then(RollupTable::from_stored)
        .filter(|_| scan.fetch.is_none())
    else {
        return Ok(None);
    };
    let table = &scan.table_name;
    let measures: HashMap<Column, Measure> = sums
        .measures()
        .map(|name| {
            (
                Column::new(Some(table.clone()), name),
                Measure::new(table, name),
            )
        })
        .collect();
    let labels: Vec<String> = sums.labels().map(str::to_owned).collect();
    let source = provider_as_source(Arc::new(sums));
    let mut weighed = RollupPlan {
        plan: LogicalPlanBuilder::scan(table.clone(), source, None)?.build()?,
        rows: Column::new(Some(table.clone()), rollup::ROWS),
        whole: true,
        measures,
    };
    for filter in &scan.filters {
        let Some(filter) = weighed.over_labels(filter)? else {
            return Ok(None);
        };
        let filtered = Filter::try_new(filter, Arc::new(weighed.plan))?;
        weighed.plan = LogicalPlan::Filter(filtered);
    }
    // Only the original columns: a name must not become ambiguous further up.
    let mut outputs = vec![Expr::Column(weighed.rows.clone())];
    for (qualifier, field) in scan.projected_schema.iter() {
        let column = Column::new(qualifier.cloned(), field.name());
        match weighed.measures.get(&column) {
            Some(measure) => {
                let columns = measure.columns();
                outputs.extend(columns.map(|column| Expr::Column(column.clone())));
            }
            None if labels.contains(field.name()) => outputs.push(Expr::Column(column)),
            None => {}
        }
    }
    let projected = Projection::try_new(outputs, Arc::new(weighed.plan))?;
    weighed.plan = LogicalPlan::Projection(projected);
    Ok(Some(weighed))
}

fn filter(filter: &Filter) -> Result<Option<RollupPlan>> {
    let Some(mut input) = plan_over_rollups(&filter.input)? else {
        return Ok(None);
    };
    let Some(predicate) = input.over_labels(&filter.predicate)? else {
        return Ok(None);
    };
    input.plan = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input.plan))?);
    input.whole = false;
    Ok(Some(input))
}

fn projection(projection: &Projection) -> Result<Option<RollupPlan>> {
    let Some(input) = plan_over_rollups(&projection.input)? else {
        return Ok(None);
    };
    let names = NamePreserver::new_for_projection();
    let mut outputs = vec![Expr::Column(input.rows.clone())];
    let mut measures = HashMap::new();
    for (expr, (qualifier, field)) in projection.expr.iter().zip(projection.schema.iter()) {
        if let Some(measure) = input.measure(expr) {
            let carried = measure.columns().map(|column| Expr::Column(column.clone()));
            let new = carried
                .into_iter()
                .filter(|column| !outputs.contains(column));
            outputs.extend(new.collect::<Vec<_>>());
            let name = Column::new(qualifier.cloned(), field.name());
            measures.insert(name, measure.clone());
            continue;
        }
        // Expressions over single rows are left out: they may be unused.
        if let Some(labels) = input.over_labels(expr)? {
            outputs.push(names.save(expr).restore(labels));
        }
    }
    let plan = Projection::try_new(outputs, Arc::new(input.plan))?;
    Ok(Some(RollupPlan {
        plan: LogicalPlan::Projection(plan),
        measures,
        ..input
    }))
}

fn alias(alias: &SubqueryAlias) -> Result<Option<RollupPlan>> {
    let Some(input) = plan_over_rollups(&alias.input)? else {
        return Ok(None);
    };
    let name = &alias.alias;
    let named = |column: &Column| Column::new(Some(name.clone()), &column.name);
    let measures = input.measures.iter();
    let measures = measures.map(|(column, measure)| (named(column), measure.with_qualifier(name)));
    let measures = measures.collect();
    Ok(Some(RollupPlan {
        rows: named(&input.rows),
        plan: LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(
            Arc::new(input.plan),
            name.clone(),
        )?),
        measures,
        whole: input.whole,
    }))
}

/// Rewrites a join in which each pre-aggregate matches the same rows as all of its rows do.
fn join(join: &Join) -> Result<Option<RollupPlan>> {
    let (left, right) = (
        plan_over_rollups(&join.left)?,
        plan_over_rollups(&join.right)?,
    );
    let (left_kept, right_kept) = match join.join_type {
        JoinType::Inner => (true, true),
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => (true, false),
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti => (false, true),
        _ => (false, false),
    };
    let (input, is_left) = match (left, right) {
        (Some(input), None) if left_kept => (input, true),
        (None, Some(input)) if right_kept => (input, false),
        _ => return Ok(None),
    };
    let mut on = Vec::with_capacity(join.on.len());
    for (left, right) in &join.on {
        let own = if is_left { left } else { right };
        let Some(own) = input.over_labels(own)? else {
            return Ok(None);
        };
        on.push(if is_left {
            (own, right.clone())
        } else {
            (left.clone(), own)
        });
    }
    let condition = join.filter.as_ref();
    let (own, other) = (
        input.plan.schema(),
        if is_left { &join.right } else { &join.left }.schema(),
    );
    let looks_at_rows = |condition: &Expr| {
        let known = |column: &&Column| own.has_column(column) || other.has_column(column);
        condition.is_volatile() || !condition.column_refs().iter().all(known)
    };
    if condition.is_some_and(looks_at_rows) {
        return Ok(None);
    }
    let plan = Arc::new(input.plan);
    let (left, right) = if is_left {
        (plan, Arc::clone(&join.right))
    } else {
        (Arc::clone(&join.left), plan)
    };
    let joined = Join::try_new(
        left,
        right,
        on,
        join.filter.clone(),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    Ok(Some(RollupPlan {
        plan: LogicalPlan::Join(joined),
        rows: input.rows,
        whole: false,
        measures: input.measures,
    }))
}

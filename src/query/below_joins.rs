//! Rows that are joined with what is known of their graphs are put together by graph first: there are few graphs, and texts of theirs
//! are looked at once.
//!
//! ```text
//! Aggregate                                Projection: what was asked for
//!   count(*) by operator, class              Aggregate
//!   Join: graph_id                  ─▶         sum(count) by operator, class
//!     records                                  Join: graph_id
//!     graphs                                     Aggregate
//!                                                  count(*) by graph_id, class
//!                                                  records
//!                                                graphs
//! ```
//!
//! Counts, sums, means and extremes only (Yan and Larson, Eager Aggregation and Lazy Aggregation, 1995).

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result};
use datafusion::logical_expr::{
    Aggregate, Case, Expr, ExprSchemable as _, Join, LogicalPlan, LogicalPlanBuilder, lit,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::fallible;
use super::finest::{Parts, named_as};

/// What the columns of the groups below are called.
const NAME: &str = "__below_";

/// The table of many rows.
const MANY: &str = "records";

/// Tables whose rows are read whole: one or a few for each graph.
const FEW: [&str; 4] = ["graphs", "network_tasks", "tasks", "workloads"];

/// Columns of few values.
const LABELS: [&str; 5] = ["dataset", "error_no", "graph_id", "platform", "status"];

/// The rule that does so.
#[derive(Debug)]
pub(super) struct BelowJoins;

impl OptimizerRule for BelowJoins {
    fn name(&self) -> &'static str {
        "below_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && let Some(join) = joined(&aggregate.input)
            // What cannot be said so for whatever reason is computed as ever.
            && let Ok(Some(answer)) = below(aggregate, join)
        {
            return Ok(Transformed::yes(answer));
        }
        Ok(Transformed::no(plan))
    }
}

/// The join that a plan is, of which it leaves out columns at most.
fn joined(plan: &LogicalPlan) -> Option<&Join> {
    match plan {
        LogicalPlan::Join(join) => Some(join),
        LogicalPlan::Projection(projection) => {
            let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
            let is_plain = projection.expr.iter().all(is_column);
            joined(&projection.input).filter(|_| is_plain)
        }
        _ => None,
    }
}

/// The same rows; `None` where the join does not meet many rows with few, or a function of all rows does not follow from those of parts.
fn below(aggregate: &Aggregate, join: &Join) -> Result<Option<LogicalPlan>> {
    let is_equal = join.join_type == JoinType::Inner
        && join.filter.is_none()
        && join.null_equality == NullEquality::NullEqualsNothing;
    let (many, few) = match (reads_many(&join.left), reads_many(&join.right)) {
        (true, false) => (&join.left, &join.right),
        (false, true) => (&join.right, &join.left),
        _ => return Ok(None),
    };
    if !is_equal || aggregate.group_expr.is_empty() || !is_few(few) {
        return Ok(None);
    }
    let schema = many.schema();
    let mut own = Own::default();
    let on = join.on.iter().map(|(left, right)| {
        let keys = [left, right].into_iter();
        let key = keys.clone().find(|key| is_over(key, schema))?;
        let other = keys.clone().find(|other| is_over(other, few.schema()))?;
        is_label(key, schema).then(|| (other.clone(), own.add(key)))
    });
    let Some(on) = on.collect::<Option<Vec<(Expr, Expr)>>>() else {
        return Ok(None);
    };
    let mut groups = Vec::with_capacity(aggregate.group_expr.len());
    for group in &aggregate.group_expr {
        let group = &group.clone().unalias();
        if matches!(group, Expr::GroupingSet(_)) || group.is_volatile() {
            return Ok(None);
        }
        let above = match group {
            group if is_over(group, few.schema()) => group.clone(),
            Expr::Case(case) if is_over(group, schema) => match numbered(case) {
                Some((number, branches)) => branches.of(own.add(&number)),
                None => return Ok(None),
            },
            group if is_over(group, schema) && is_label(group, schema) => own.add(group),
            _ => return Ok(None),
        };
        groups.push(above.alias(format!("{NAME}group_{}", groups.len())));
    }
    // The join leaves out rows, for which nothing that may fail is evaluated.
    let is_of_many = |expr: &Expr| {
        is_over(expr, schema) && !expr.is_volatile() && !fallible::may_fail(expr, schema)
    };
    let own_is_total = own.0.iter().all(|group| !fallible::may_fail(group, schema));
    if !own_is_total || !aggregate.aggr_expr.iter().all(is_of_many) {
        return Ok(None);
    }
    let Some((parts, answers)) = Parts::of(&aggregate.aggr_expr, many)? else {
        return Ok(None);
    };
    let by_graph = LogicalPlanBuilder::from(Arc::clone(many))
        .aggregate(own.named(), parts.of_rows)?
        .build()?;
    let plan = LogicalPlanBuilder::from(Arc::clone(few))
        .join_with_expr_keys(by_graph, JoinType::Inner, on.into_iter().unzip(), None)?
        .aggregate(groups, parts.of_parts)?
        .build()?;
    let names = 0..aggregate.group_expr.len();
    let names = names.map(|place| Column::new_unqualified(format!("{NAME}group_{place}")));
    let answers = names.map(Expr::Column).chain(answers);
    named_as(aggregate, plan, answers)
}

/// Groups of the many rows.
#[derive(Default)]
struct Own(Vec<Expr>);

impl Own {
    fn name(place: usize) -> String {
        format!("{NAME}{place}")
    }

    /// The column that this is above the groups.
    fn add(&mut self, group: &Expr) -> Expr {
        let known = self.0.iter().position(|known| known == group);
        let place = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(group.clone());
        }
        Expr::Column(Column::new_unqualified(Self::name(place)))
    }

    fn named(self) -> impl Iterator<Item = Expr> {
        let groups = self.0.into_iter().enumerate();
        groups.map(|(place, group)| group.alias(Self::name(place)))
    }
}

/// What each number of a branch stands for.
struct Branches(Vec<(Box<Expr>, Box<Expr>)>);

impl Branches {
    /// What a number stands for.
    fn of(self, number: Expr) -> Expr {
        Expr::Case(Case::new(Some(Box::new(number)), self.0, None))
    }
}

/// The same branches with numbers for what they give, which are compared sooner; `None` where they do not give constants.
fn numbered(case: &Case) -> Option<(Expr, Branches)> {
    let mut known = Vec::new();
    let mut number = |given: &Expr| {
        let number = i8::try_from(known.len()).ok()?;
        let is_constant = matches!(given, Expr::Literal(..));
        known.push((Box::new(lit(number)), Box::new(given.clone())));
        is_constant.then(|| Box::new(lit(number)))
    };
    let branches = case.when_then_expr.iter();
    let branches = branches.map(|(when, then)| Some((when.clone(), number(then)?)));
    let branches = branches.collect::<Option<Vec<_>>>()?;
    let other = match &case.else_expr {
        Some(other) => Some(number(other)?),
        None => None,
    };
    let number = Case::new(case.expr.clone(), branches, other);
    Some((Expr::Case(number), Branches(known)))
}

/// Does it look at these columns only, and are they none of the groups below?
fn is_over(expr: &Expr, schema: &DFSchema) -> bool {
    let mut columns = expr.column_refs().into_iter();
    columns.all(|column| schema.has_column(column) && !column.name.starts_with(NAME))
}

/// Has it few values?
pub(super) fn is_label(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Column(column) => LABELS.contains(&column.name.as_str()),
        other => other
            .get_type(schema)
            .is_ok_and(|kind| kind == DataType::Boolean),
    }
}

fn reads_many(plan: &LogicalPlan) -> bool {
    plan.exists(|node| {
        Ok(matches!(node, LogicalPlan::TableScan(scan) if scan.table_name.table() == MANY))
    })
    .unwrap_or(true)
}

/// Are these the rows of such tables, all of them? Where some are chosen, so are the graphs whose rows are read.
fn is_few(plan: &LogicalPlan) -> bool {
    let mut is_few = true;
    let looked = plan.apply(|node| {
        is_few &= match node {
            LogicalPlan::TableScan(scan) => {
                let is_whole = scan.filters.is_empty() && scan.fetch.is_none();
                is_whole && FEW.contains(&scan.table_name.table())
            }
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => true,
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    looked.is_ok() && is_few
}

#[cfg(test)]
mod tests {
    use crate::query::sums::tests::answer;
    use crate::store::Store;

    /// The same as `graphs`, but not known to be so.
    const CHOSEN: &str = "(SELECT * FROM graphs WHERE length(workload_key) > 0) AS graphs";

    #[tokio::test]
    async fn rows_are_put_together_by_graph_before_they_are_joined() {
        let context = Store::demo().await.unwrap().session().await.unwrap();
        let from = "FROM records JOIN graphs ON records.graph_id = graphs.graph_id";
        for (sql, is_below) in [
            (
                "SELECT substr(workload_key, 3, 9) AS op, CASE WHEN runtime_ns < 1e5 THEN 'fast' WHEN runtime_ns < 1e6 THEN 'middle' ELSE 'slow' END AS class, count(*) AS n FROM GROUP BY 1, 2",
                true,
            ),
            (
                "SELECT workload_key AS k, CASE platform WHEN 'epyc-1t' THEN 1 WHEN 'x' THEN 2 END AS c, avg(ln(runtime_ns)) AS l, count(min_ns) AS n, max(error_no) AS e FROM GROUP BY 1, 2",
                true,
            ),
            (
                "SELECT runtime_ns > 1e6 AS slow, platform, length(workload_key) AS k, sum(runtime_ns * 2) AS s, min(line) AS m, count(*) FILTER (WHERE line % 2 = 0) AS f FROM WHERE error_no = 0 GROUP BY 1, 2, 3",
                true,
            ),
            (
                "SELECT workload_key AS k, sum(line) AS s FROM GROUP BY 1 HAVING count(line % 3) > 2",
                true,
            ),
            (
                "SELECT workload_key AS k, records.graph_id AS g, graphs.dataset AS d, max(ln(runtime_ns)) AS m FROM GROUP BY 1, 2, 3",
                true,
            ),
            (
                "SELECT workload_key AS k, line % 3 AS l, count(*) AS n FROM GROUP BY 1, 2",
                false,
            ),
            (
                "SELECT workload_key AS k, count(DISTINCT line % 3) AS n FROM GROUP BY 1",
                false,
            ),
            (
                "SELECT workload_key AS k, median(runtime_ns) AS n FROM GROUP BY 1",
                false,
            ),
            // What may fail is evaluated for rows that are joined.
            (
                "SELECT workload_key AS k, sum(100 / (line + 1)) AS n FROM GROUP BY 1",
                false,
            ),
            (
                "SELECT workload_key AS k, 100 / (line + 1) > 3 AS f, count(*) AS n FROM GROUP BY 1, 2",
                false,
            ),
            (
                "SELECT workload_key AS k, sum(length(workload_key) * runtime_ns) AS n FROM GROUP BY 1",
                false,
            ),
            (
                "SELECT count(*) AS n, max(length(workload_key)) AS l FROM WHERE runtime_ns > 0",
                false,
            ),
        ] {
            let asked = sql.replace("FROM", from);
            let plan = context
                .sql(&asked)
                .await
                .unwrap()
                .into_optimized_plan()
                .unwrap();
            let plan = plan.display_indent().to_string();
            assert_eq!(plan.contains("__below_0"), is_below, "{plan}");
            let other = asked.replace("JOIN graphs", &format!("JOIN {CHOSEN}"));
            let plan = context
                .sql(&other)
                .await
                .unwrap()
                .into_optimized_plan()
                .unwrap();
            assert!(
                !plan.display_indent().to_string().contains("__below_0"),
                "{other}"
            );
            let (asked, other) = (
                answer(&context, &asked).await,
                answer(&context, &other).await,
            );
            assert_eq!(asked, other, "{sql}");
            assert!(asked.len() > 4, "{asked:?}");
        }
    }

    #[tokio::test]
    async fn rows_of_several_partners_count_for_each() {
        let context = Store::demo().await.unwrap().session().await.unwrap();
        let twice = "SELECT g.dataset || 'x' AS d, platform, count(line % 3) AS n, avg(ln(runtime_ns)) AS l FROM records JOIN graphs AS g ON g.dataset = records.dataset GROUP BY 1, 2";
        let plan = context
            .sql(twice)
            .await
            .unwrap()
            .into_optimized_plan()
            .unwrap();
        assert!(
            plan.display_indent().to_string().contains("__below_0"),
            "{plan}"
        );
        let other = twice.replace(
            "JOIN graphs AS",
            "JOIN (SELECT * FROM graphs WHERE length(workload_key) > 0) AS",
        );
        assert_eq!(
            answer(&context, twice).await,
            answer(&context, &other).await
        );
    }
}

//! Several sets of groups are computed from the finest groups, which are few, and not each from all rows.
//!
//! ```text
//! Aggregate                              Projection: what was asked for
//!   avg(x), count(*)                       Aggregate
//!   by ROLLUP (a, b)             ─▶          sum(sum), sum(count), sum(rows) by ROLLUP (a, b)
//!     rows                                   Aggregate
//!                                              sum(x), count(x), count(*) by a, b
//!                                                rows
//! ```
//!
//! Counts, sums, means and extremes only. The finest groups are ordinary ones, which may be answered from sums.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable as _, GroupingSet, LogicalPlan,
    LogicalPlanBuilder, cast, lit, when,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// What columns of the finest groups are called.
const NAME: &str = "__finest_";

/// The rule that does so.
#[derive(Debug)]
pub(super) struct FromFinestGroups;

impl OptimizerRule for FromFinestGroups {
    fn name(&self) -> &'static str {
        "from_finest_groups"
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
            && let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice()
            // What cannot be said so for whatever reason is computed as ever.
            && let Ok(Some(answer)) = of_finest(aggregate, sets)
        {
            return Ok(Transformed::yes(answer));
        }
        Ok(Transformed::no(plan))
    }
}

/// The same rows; `None` where a function of all rows does not follow from those of parts.
fn of_finest(aggregate: &Aggregate, sets: &GroupingSet) -> Result<Option<LogicalPlan>> {
    let groups: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
    let is_known = |expr: &Expr| matches!(expr, Expr::Column(column) if is_part(&column.name));
    let is_volatile = groups.iter().any(Expr::is_volatile);
    if is_volatile || aggregate.aggr_expr.is_empty() || groups.iter().any(is_known) {
        return Ok(None);
    }
    let Some((parts, answers)) = Parts::of(&aggregate.aggr_expr, &aggregate.input)? else {
        return Ok(None);
    };
    let finest = groups.iter().enumerate();
    let finest = finest.map(|(place, group)| group.clone().alias(format!("{NAME}{place}")));
    let named = |place: usize| Expr::Column(Column::new_unqualified(format!("{NAME}{place}")));
    let again = |group: &Expr| groups.iter().position(|other| other == group).map(named);
    let all_again = |groups: &Vec<Expr>| groups.iter().map(again).collect::<Option<Vec<Expr>>>();
    let sets = match sets {
        GroupingSet::Rollup(groups) => all_again(groups).map(GroupingSet::Rollup),
        GroupingSet::Cube(groups) => all_again(groups).map(GroupingSet::Cube),
        GroupingSet::GroupingSets(sets) => {
            let sets: Option<Vec<_>> = sets.iter().map(all_again).collect();
            sets.map(GroupingSet::GroupingSets)
        }
    };
    let Some(sets) = sets else { return Ok(None) };
    let plan = LogicalPlanBuilder::from(Arc::clone(&aggregate.input))
        .aggregate(finest, parts.of_rows)?
        .aggregate([Expr::GroupingSet(sets)], parts.of_parts)?
        .build()?;
    // Groups, and the number of the set, lie where they did.
    let own = aggregate.schema.fields().len() - answers.len();
    let kept = plan.schema().columns().into_iter().take(own);
    let answers = kept.map(Expr::Column).chain(answers);
    named_as(aggregate, plan, answers)
}

/// The answers of a plan in the place of an aggregate's; `None` where their types are others.
pub(super) fn named_as(
    aggregate: &Aggregate,
    plan: LogicalPlan,
    answers: impl Iterator<Item = Expr>,
) -> Result<Option<LogicalPlan>> {
    let mut outputs = Vec::with_capacity(aggregate.schema.fields().len());
    for (answer, (qualifier, field)) in answers.zip(aggregate.schema.iter()) {
        if answer.get_type(plan.schema())? != *field.data_type() {
            return Ok(None);
        }
        outputs.push(answer.alias_qualified(qualifier.cloned(), field.name()));
    }
    LogicalPlanBuilder::from(plan)
        .project(outputs)?
        .build()
        .map(Some)
}

/// Is this what a part or a finest group is called?
pub(super) fn is_part(name: &str) -> bool {
    name.starts_with(NAME)
}

/// What is computed of rows, and of what was computed of rows.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) of_rows: Vec<Expr>,
    pub(super) of_parts: Vec<Expr>,
}

impl Parts {
    /// Computes all of these in two steps; returns what each is in terms of the second. `None` where one is another function.
    pub(super) fn of(
        aggregates: &[Expr],
        input: &LogicalPlan,
    ) -> Result<Option<(Self, Vec<Expr>)>> {
        let mut parts = Self::default();
        let mut answers = Vec::with_capacity(aggregates.len());
        for expr in aggregates {
            let Expr::AggregateFunction(function) = expr.clone().unalias() else {
                return Ok(None);
            };
            let Some(answer) = parts.add(&function, input)? else {
                return Ok(None);
            };
            answers.push(answer);
        }
        Ok(Some((parts, answers)))
    }

    /// Computes a function in two steps; returns what it is in terms of the second. `None` for any other function.
    fn add(&mut self, function: &AggregateFunction, input: &LogicalPlan) -> Result<Option<Expr>> {
        let params = &function.params;
        let [arg] = params.args.as_slice() else {
            return Ok(None);
        };
        let name = function.func.name();
        let is_extreme = matches!(name, "min" | "max");
        let is_plain = params.order_by.is_empty() && params.null_treatment.is_none();
        if !is_plain || (params.distinct && !is_extreme) {
            return Ok(None);
        }
        let of_rows = |func: &Arc<AggregateUDF>| AggregateFunction {
            func: Arc::clone(func),
            params: params.clone(),
        };
        Ok(match name {
            "min" | "max" => Some(self.push(of_rows(&function.func), &function.func)),
            "sum" => Some(self.push(of_rows(&function.func), &function.func)),
            "count" => Some(or_zero(self.push(of_rows(&function.func), &sum_udaf()))?),
            "avg" if arg.get_type(input.schema())? == DataType::Float64 => {
                let total = self.push(of_rows(&sum_udaf()), &sum_udaf());
                let count = self.push(of_rows(&count_udaf()), &sum_udaf());
                Some(total / cast(count, DataType::Float64))
            }
            _ => None,
        })
    }

    fn push(&mut self, of_rows: AggregateFunction, of_parts: &Arc<AggregateUDF>) -> Expr {
        let place = self.of_rows.len();
        let (part, whole) = (
            format!("{NAME}part_{place}"),
            format!("{NAME}whole_{place}"),
        );
        self.of_rows
            .push(Expr::AggregateFunction(of_rows).alias(&part));
        let part = Expr::Column(Column::new_unqualified(part));
        let func = Arc::clone(of_parts);
        let of_parts = AggregateFunction::new_udf(func, vec![part], false, None, vec![], None);
        self.of_parts
            .push(Expr::AggregateFunction(of_parts).alias(&whole));
        Expr::Column(Column::new_unqualified(whole))
    }
}

/// A set without rows counts none. No `coalesce`, which a later rule would have to write out.
fn or_zero(sum: Expr) -> Result<Expr> {
    when(sum.clone().is_not_null(), sum).otherwise(lit(0_i64))
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::query::collect;
    use crate::query::engine::engine;

    async fn context() -> SessionContext {
        let context = engine(None).unwrap();
        let rows = "SELECT x % 3 AS a, CASE WHEN x % 5 > 0 THEN 'b' || x % 5 END AS b, x,
            CASE WHEN x % 4 > 0 THEN x / 4.0 END AS y FROM (SELECT unnest(range(0, 1000)) AS x)";
        let batches = collect(&context, rows).await.unwrap();
        let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
        context.register_batch("t", batch).unwrap();
        context
    }

    async fn asked(context: &SessionContext, sql: &str) -> (bool, String) {
        let plan = context.sql(sql).await.unwrap();
        let plan = plan.into_optimized_plan().unwrap().to_string();
        let batches = collect(context, sql).await.unwrap();
        let rows = pretty_format_batches(&batches).unwrap().to_string();
        (plan.contains(super::NAME), rows)
    }

    const FUNCTIONS: &str = "count(*) AS n, count(y) AS c, count(y) FILTER (WHERE a = 1) AS f, sum(x) AS s, avg(y) AS m, min(b) AS l, max(DISTINCT y) AS g";

    /// The sets as groups of their own, one after another.
    fn one_by_one(sets: &[&[&str]], filter: &str) -> String {
        let each = sets.iter().map(|set| {
            let shown = ["a", "b"].map(|name| match set.contains(&name) {
                true => name.to_owned(),
                false => format!("NULL AS {name}"),
            });
            let grouped = match set.is_empty() {
                true => String::new(),
                false => format!("GROUP BY {}", set.join(", ")),
            };
            format!(
                "SELECT {}, {FUNCTIONS} FROM t {filter} {grouped}",
                shown.join(", ")
            )
        });
        each.collect::<Vec<_>>().join(" UNION ALL ")
    }

    #[tokio::test]
    async fn sets_of_groups_are_those_one_by_one() {
        let context = context().await;
        for (by, sets) in [
            ("ROLLUP (a, b)", &[&["a", "b"][..], &["a"], &[]][..]),
            ("CUBE (a, b)", &[&["a", "b"], &["a"], &["b"], &[]]),
            ("GROUPING SETS ((b), (a))", &[&["b"], &["a"]]),
            (
                "GROUPING SETS ((a, b), (b), (b))",
                &[&["a", "b"], &["b"], &["b"]],
            ),
        ] {
            for filter in ["", "WHERE x > 20 AND b IS NOT NULL"] {
                let sql = format!("SELECT a, b, {FUNCTIONS} FROM t {filter} GROUP BY {by}");
                let sorted = |sql: &str| format!("SELECT * FROM ({sql}) ORDER BY a, b, n");
                let (is_it, rows) = asked(&context, &sorted(&sql)).await;
                assert!(is_it, "{sql}");
                let (is_it, one_by_one) = asked(&context, &sorted(&one_by_one(sets, filter))).await;
                assert!(!is_it);
                assert_eq!(rows, one_by_one, "{sql}");
            }
        }
    }

    #[tokio::test]
    async fn expressions_sets_and_empty_tables_stay_what_they_were() {
        let context = context().await;
        let sql = "SELECT a + 1 AS k, grouping(a + 1) AS g, b, count(*) FROM t WHERE x < 10 GROUP BY ROLLUP (a + 1, b) ORDER BY k, g, b LIMIT 3";
        let (is_it, rows) = asked(&context, sql).await;
        assert!(is_it);
        assert!(rows.contains("| 1 | 0 | b1 | 1 "), "{rows}");
        // Of no row there is the set of all, as SQL wants it.
        for by in ["ROLLUP (a)", "CUBE (a, b)"] {
            let sql =
                format!("SELECT a, count(x) AS n, sum(x) AS s FROM t WHERE x < 0 GROUP BY {by}");
            let (is_it, rows) = asked(&context, &sql).await;
            assert!(is_it, "{sql}");
            assert_eq!(rows.lines().nth(3), Some("|   | 0 |   |"), "{rows}");
            assert_eq!(rows.lines().count(), 5, "{rows}");
        }
        // Not of parts.
        for function in [
            "median(x)",
            "count(DISTINCT x)",
            "stddev(y)",
            "avg(y), corr(x, y)",
        ] {
            let sql = format!("SELECT a, {function} FROM t GROUP BY ROLLUP (a)");
            assert!(!asked(&context, &sql).await.0, "{sql}");
        }
    }
}

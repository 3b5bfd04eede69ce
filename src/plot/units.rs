//! What the columns of an answer are measured in: as the schema says of the columns that they come from, whatever they are called.

use datafusion::logical_expr::{Distinct, Expr, JoinType, LogicalPlan};

use crate::schema;

/// Functions whose result is measured in what is given to them.
const KEEPS: [&str; 15] = [
    "approx_median",
    "approx_percentile_cont",
    "avg",
    "first_value",
    "last_value",
    "max",
    "max_by",
    "median",
    "min",
    "min_by",
    "nth_value",
    "percentile_cont",
    "stddev",
    "stddev_pop",
    "sum",
];

/// The unit of each column of a plan that nobody has optimized; `None` where none is known.
pub(crate) fn units(plan: &LogicalPlan) -> Vec<Option<String>> {
    let columns = 0..plan.schema().fields().len();
    columns.map(|place| unit(plan, place)).collect()
}

fn unit(plan: &LogicalPlan, place: usize) -> Option<String> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let field = scan.projected_schema.fields().get(place)?;
            of_table(scan.table_name.table(), field.name())
        }
        LogicalPlan::Projection(projection) => {
            of_expression(projection.expr.get(place)?, &projection.input)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let mut all = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            of_expression(all.nth(place)?, &aggregate.input)
        }
        LogicalPlan::Window(window) => {
            let before = window.input.schema().fields().len();
            match place.checked_sub(before) {
                None => unit(&window.input, place),
                Some(own) => of_expression(window.window_expr.get(own)?, &window.input),
            }
        }
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            match join.join_type {
                JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                    unit(&join.right, place)
                }
                _ if place < left => unit(&join.left, place),
                _ => unit(&join.right, place - left),
            }
        }
        LogicalPlan::Filter(filter) => unit(&filter.input, place),
        LogicalPlan::Sort(sort) => unit(&sort.input, place),
        LogicalPlan::Limit(limit) => unit(&limit.input, place),
        LogicalPlan::SubqueryAlias(alias) => unit(&alias.input, place).or_else(|| {
            // A column that is computed where it is read has its unit by its name in the table.
            let field = alias.schema.fields().get(place)?;
            of_table(alias.alias.table(), field.name())
        }),
        LogicalPlan::Distinct(Distinct::All(input)) => unit(input, place),
        LogicalPlan::Union(union) => unit(union.inputs.first()?, place),
        _ => None,
    }
}

fn of_expression(expression: &Expr, input: &LogicalPlan) -> Option<String> {
    match expression {
        Expr::Alias(alias) => of_expression(&alias.expr, input),
        Expr::Column(column) => unit(input, input.schema().maybe_index_of_column(column)?),
        Expr::Cast(cast) => of_expression(&cast.expr, input),
        Expr::AggregateFunction(function) if KEEPS.contains(&function.func.name()) => {
            of_expression(function.params.args.first()?, input)
        }
        Expr::WindowFunction(function) if KEEPS.contains(&function.fun.name()) => {
            of_expression(function.params.args.first()?, input)
        }
        _ => None,
    }
}

/// That of a column of a table or view of the store.
fn of_table(table: &str, name: &str) -> Option<String> {
    let mut columns = schema::relation(table)?.columns.iter();
    columns.find(|column| column.name == name)?.unit.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ask;
    use crate::store::Store;

    #[tokio::test]
    async fn units_come_from_the_schema_whatever_the_name_is() {
        let store = Store::create("memory:").await.unwrap();
        let context = store.session().await.unwrap();
        let of = async |sql: &str| units(ask(&context, sql, &[]).await.unwrap().logical_plan());
        let told = |units: &[Option<&str>]| -> Vec<Option<String>> {
            units.iter().map(|unit| unit.map(str::to_owned)).collect()
        };
        let renamed = "SELECT platform, runtime_ns AS t, runtime_ns / 2 AS half FROM records ORDER BY t LIMIT 3";
        assert_eq!(of(renamed).await, told(&[None, Some("ns"), None]));
        let grouped = "SELECT platform, min(runtime_ns) AS best, count(*) AS n, avg(all_cost_s) AS spent FROM records GROUP BY platform";
        assert_eq!(
            of(grouped).await,
            told(&[None, Some("ns"), None, Some("s")])
        );
        let nested = "WITH a AS (SELECT graph_id, min(runtime_ns) OVER (PARTITION BY graph_id) AS m FROM records) \
            SELECT g.node_count, a.m AS x FROM graphs AS g JOIN a ON a.graph_id = g.graph_id WHERE a.m > 1";
        assert_eq!(of(nested).await, told(&[None, Some("ns")]));
    }
}

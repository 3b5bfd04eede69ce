//! Units of result columns, derived from the columns that they are computed from, through aliases.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::{BinaryExpr, Distinct, Expr, JoinType, LogicalPlan, Operator};
use tsql_schema as schema;

/// Metadata key of a field's unit.
const UNIT: &str = "unit";

/// Aggregates and window functions whose result has the unit of their first argument.
const UNIT_PRESERVING_AGGREGATES: [&str; 18] = [
    "any_value",
    "approx_median",
    "approx_percentile_cont",
    "avg",
    "first_value",
    "lag",
    "last_value",
    "lead",
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

/// Scalar functions whose result has the unit of their first argument.
const UNIT_PRESERVING_FUNCTIONS: [&str; 14] = [
    "abs",
    "array_element",
    "array_max",
    "array_min",
    "array_slice",
    "array_sort",
    "ceil",
    "coalesce",
    "floor",
    "greatest",
    "least",
    "nullif",
    "round",
    "trunc",
];

/// Unit of each column of an unoptimized plan; `None` if unknown.
#[must_use]
pub fn column_units(plan: &LogicalPlan) -> Vec<Option<String>> {
    let columns = 0..plan.schema().fields().len();
    columns.map(|place| column_unit(plan, place)).collect()
}

/// Schema of the rows of a query, with units in the field metadata, as in the tables of the store.
///
/// A plan has the types of its rows only after analysis: `SELECT 1 UNION ALL SELECT 1.5` has integers before.
#[must_use]
pub fn schema_with_units(query: &DataFrame) -> SchemaRef {
    let (state, plan) = query.clone().into_parts();
    let analyzer = state.analyzer();
    let analyzed = analyzer.execute_and_check(plan.clone(), state.config_options(), |_, _| {});
    // A plan that cannot be analyzed fails with its reason when it is executed.
    let schema = match &analyzed {
        Ok(analyzed) => analyzed.schema().as_arrow(),
        Err(_) => plan.schema().as_arrow(),
    };
    let fields = schema.fields().iter().zip(column_units(&plan));
    let fields = fields.map(|(field, unit)| with_unit(field, unit));
    let fields: Vec<FieldRef> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn with_unit(field: &FieldRef, unit: Option<String>) -> FieldRef {
    let mut metadata = field.metadata().clone();
    match unit {
        Some(unit) => metadata.insert(UNIT.to_owned(), unit),
        // DataFusion copies the metadata of the source column, although the computed value is another quantity.
        None => metadata.remove(UNIT),
    };
    Arc::new(field.as_ref().clone().with_metadata(metadata))
}

fn column_unit(plan: &LogicalPlan, place: usize) -> Option<String> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let field = scan.projected_schema.fields().get(place)?;
            schema_unit(scan.table_name.table(), field.name())
        }
        LogicalPlan::Projection(projection) => {
            expression_unit(projection.expr.get(place)?, &projection.input)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let mut all = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            expression_unit(all.nth(place)?, &aggregate.input)
        }
        LogicalPlan::Window(window) => {
            let before = window.input.schema().fields().len();
            match place.checked_sub(before) {
                None => column_unit(&window.input, place),
                Some(own) => expression_unit(window.window_expr.get(own)?, &window.input),
            }
        }
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            match join.join_type {
                JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                    column_unit(&join.right, place)
                }
                _ if place < left => column_unit(&join.left, place),
                _ => column_unit(&join.right, place - left),
            }
        }
        LogicalPlan::Filter(filter) => column_unit(&filter.input, place),
        LogicalPlan::Sort(sort) => column_unit(&sort.input, place),
        LogicalPlan::Limit(limit) => column_unit(&limit.input, place),
        LogicalPlan::SubqueryAlias(alias) => column_unit(&alias.input, place).or_else(|| {
            // A column that a view computes has its unit by its name in the table.
            let field = alias.schema.fields().get(place)?;
            schema_unit(alias.alias.table(), field.name())
        }),
        LogicalPlan::Distinct(Distinct::All(input)) => column_unit(input, place),
        LogicalPlan::Distinct(Distinct::On(on)) => {
            expression_unit(on.select_expr.get(place)?, &on.input)
        }
        LogicalPlan::Union(union) => {
            let mut all = union.inputs.iter().map(|input| column_unit(input, place));
            let first = all.next()??;
            all.all(|other| other.as_ref() == Some(&first))
                .then_some(first)
        }
        LogicalPlan::Unnest(unnest) => {
            column_unit(&unnest.input, *unnest.dependency_indices.get(place)?)
        }
        _ => None,
    }
}

fn expression_unit(expression: &Expr, input: &LogicalPlan) -> Option<String> {
    match expression {
        Expr::Alias(alias) => expression_unit(&alias.expr, input),
        Expr::Column(column) => column_unit(input, input.schema().maybe_index_of_column(column)?),
        Expr::Cast(cast) => expression_unit(&cast.expr, input),
        Expr::TryCast(cast) => expression_unit(&cast.expr, input),
        Expr::Negative(inner) => expression_unit(inner, input),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus,
            right,
        }) => expression_unit(left, input).filter(|unit| {
            let other = expression_unit(right, input);
            other.as_ref() == Some(unit)
        }),
        Expr::ScalarFunction(function) if UNIT_PRESERVING_FUNCTIONS.contains(&function.name()) => {
            expression_unit(function.args.first()?, input)
        }
        Expr::AggregateFunction(function)
            if UNIT_PRESERVING_AGGREGATES.contains(&function.func.name()) =>
        {
            expression_unit(function.params.args.first()?, input)
        }
        Expr::WindowFunction(function)
            if UNIT_PRESERVING_AGGREGATES.contains(&function.fun.name()) =>
        {
            expression_unit(function.params.args.first()?, input)
        }
        _ => None,
    }
}

/// Unit of a column of a table or view of the store.
fn schema_unit(table: &str, name: &str) -> Option<String> {
    let mut columns = schema::relation(table)?.columns.iter();
    columns.find(|column| column.name == name)?.unit.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_session;
    use crate::{run_sql, schema_with_units};
    use tsql_store::Store;

    #[tokio::test]
    async fn units_come_from_the_schema_whatever_the_name_is() {
        let store = Store::create("memory:").await.unwrap();
        let context = open_session(&store).await.unwrap();
        let of = async |sql: &str| {
            column_units(run_sql(&context, sql, &[]).await.unwrap().logical_plan())
        };
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
        let computed = "SELECT max(runtime_ns) - min(runtime_ns) AS spread, round(avg(runtime_ns), 1) AS mean, -min(runtime_ns) AS less,
            max(runtime_ns) * 2 AS twice, min(runtime_ns) - count(*) AS odd, repeats_ns[1] AS first
            FROM records GROUP BY repeats_ns";
        let ns = Some("ns");
        assert_eq!(of(computed).await, told(&[ns, ns, ns, None, None, ns]));
        let mixed = "SELECT runtime_ns AS x FROM records UNION ALL SELECT all_cost_s FROM records";
        assert_eq!(of(mixed).await, told(&[None]));
        let same =
            "SELECT runtime_ns AS x FROM records UNION ALL SELECT 2 * runtime_ns FROM records";
        assert_eq!(of(same).await, told(&[None]));
        let nested = "WITH a AS (SELECT graph_id, min(runtime_ns) OVER (PARTITION BY graph_id) AS m FROM records) \
            SELECT g.node_count, a.m AS x FROM graphs AS g JOIN a ON a.graph_id = g.graph_id WHERE a.m > 1";
        assert_eq!(of(nested).await, told(&[None, Some("ns")]));
    }

    #[tokio::test]
    async fn a_schema_names_the_units_of_aggregates_and_of_nothing_else() {
        let store = Store::create("memory:").await.unwrap();
        let context = open_session(&store).await.unwrap();
        let sql = "SELECT runtime_ns, min(runtime_ns) AS best, runtime_ns / 2 AS half, count(*) AS n FROM records GROUP BY runtime_ns";
        let frame = run_sql(&context, sql, &[]).await.unwrap();
        let schema = schema_with_units(&frame);
        let units = schema.fields().iter();
        let units: Vec<_> = units
            .map(|field| field.metadata().get("unit").map(String::as_str))
            .collect();
        assert_eq!(units, [Some("ns"), Some("ns"), None, None]);
    }
}

//! Traces columns to the expressions that compute them, to decide whether a float may be a NaN with its sign bit set.

use std::any::Any;

use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable as _, LogicalPlan, Operator, WindowFunctionDefinition,
};

use tsql_functions::{CANONICAL_FLOAT, has_floats};
use tsql_store::StoredTable;

/// Functions that return one of their arguments, or an element of it.
const SELECTING: [&str; 9] = [
    "array_element",
    "array_max",
    "array_min",
    "coalesce",
    "get_field",
    "greatest",
    "least",
    "nullif",
    "nvl",
];

/// Functions that unpack numbers in the views of a store.
const UNPACKING: [&str; 4] = ["min_repeat_ns", "repeat_noise", "repeats_ns", "scaled"];

/// Aggregates and window functions that return a value of their first argument.
const CHOOSING: [&str; 12] = [
    "any_value",
    "arg_max",
    "arg_min",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "max",
    "max_by",
    "min",
    "min_by",
    "nth_value",
];

/// Aggregates and window functions that return a sum or a mean of their first argument.
const AVERAGING: [&str; 4] = ["avg", "median", "percentile_cont", "sum"];

/// Maximum number of plan nodes through which a column is traced. Each node may refer to several columns, and all are
/// traced.
const MAX_HOPS: usize = 5;

/// Origin of a column.
enum Origin<'a> {
    /// A column of a table, which may belong to a store.
    Table {
        is_stored: bool,
    },
    /// An expression over the inputs of a plan node.
    Computed(&'a Expr, &'a LogicalPlan),
    Unknown,
}

/// Returns whether an expression is a column of a store's table.
pub(super) fn is_stored(expr: &Expr, inputs: &[&LogicalPlan]) -> bool {
    match expr {
        Expr::Alias(alias) => is_stored(&alias.expr, inputs),
        Expr::Column(column) => match origin_in(column, inputs) {
            Origin::Table { is_stored } => is_stored,
            Origin::Computed(expr, node) => self::is_stored(expr, &node.inputs()),
            Origin::Unknown => false,
        },
        _ => false,
    }
}

/// Returns whether an expression may be a NaN that an operation produces, as `inf - inf`. On x86, its sign bit is set.
///
/// Columns of a store have no such NaN. Those of files by others may have one: numpy writes it for 0/0.
pub(super) fn may_make_nan(expr: &Expr, inputs: &[&LogicalPlan]) -> bool {
    may_make_nan_within(expr, inputs, MAX_HOPS)
}

fn may_make_nan_within(expr: &Expr, inputs: &[&LogicalPlan], hops: usize) -> bool {
    let makes = |expr: &Expr| may_make_nan_within(expr, inputs, hops);
    match expr {
        Expr::Literal(value, _) => !value.is_null() && !is_finite(expr, false),
        Expr::Alias(alias) => makes(&alias.expr),
        Expr::Column(column) => match origin_in(column, inputs) {
            Origin::Table { is_stored } => !is_stored,
            Origin::Computed(expr, node) => {
                hops == 0 || may_make_nan_within(expr, &node.inputs(), hops - 1)
            }
            Origin::Unknown => true,
        },
        Expr::Cast(cast) => may_cast_nan(&cast.expr, inputs, hops),
        Expr::TryCast(cast) => may_cast_nan(&cast.expr, inputs, hops),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            // With a finite operand, the result is NaN only if the other one is.
            Operator::Plus | Operator::Minus if is_finite(left, false) => makes(right),
            Operator::Plus | Operator::Minus if is_finite(right, false) => makes(left),
            Operator::Multiply if is_finite(left, true) => makes(right),
            Operator::Multiply | Operator::Divide if is_finite(right, true) => makes(left),
            _ => true,
        },
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then);
            results.chain(&case.else_expr).any(|result| makes(result))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let name = func.name();
            let is_selecting = SELECTING.contains(&name);
            let is_number = name == CANONICAL_FLOAT.name() || UNPACKING.contains(&name);
            !is_number && (!is_selecting || args.iter().any(makes))
        }
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            may_aggregate_nan(func.name(), &params.args, inputs, hops)
        }
        Expr::WindowFunction(call) => {
            let WindowFunction { fun, params } = call.as_ref();
            let name = match fun {
                WindowFunctionDefinition::AggregateUDF(function) => function.name(),
                WindowFunctionDefinition::WindowUDF(function) => function.name(),
            };
            may_aggregate_nan(name, &params.args, inputs, hops)
        }
        _ => true,
    }
}

/// Returns whether an aggregate or a window function may return NaN. Sums and means of a store's columns do not: these
/// have no infinite values of both signs.
fn may_aggregate_nan(name: &str, args: &[Expr], inputs: &[&LogicalPlan], hops: usize) -> bool {
    let Some(first) = args.first() else {
        return false;
    };
    if CHOOSING.contains(&name) {
        return may_make_nan_within(first, inputs, hops);
    }
    !(AVERAGING.contains(&name) && is_stored(first, inputs))
}

/// Returns whether a cast may return NaN. Integers cannot, and strings may be `-nan`.
fn may_cast_nan(expr: &Expr, inputs: &[&LogicalPlan], hops: usize) -> bool {
    let mut kinds = inputs.iter().map(|input| expr.get_type(input.schema()));
    match kinds.find_map(Result::ok) {
        Some(kind) if has_floats(&kind) => may_make_nan_within(expr, inputs, hops),
        Some(kind) => !kind.is_numeric(),
        None => true,
    }
}

/// Returns whether an expression is a finite literal, and not zero if `is_nonzero`.
fn is_finite(expr: &Expr, is_nonzero: bool) -> bool {
    let Expr::Literal(value, _) = expr else {
        return false;
    };
    match float_value(value) {
        Some(value) => value.is_finite() && !(is_nonzero && value == 0.0),
        None => value.data_type().is_numeric() && !value.is_null(),
    }
}

/// Returns the value of a literal float.
pub(super) fn float_value(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Float16(value) => value.map(|value| value.to_f64()),
        ScalarValue::Float32(value) => value.map(f64::from),
        ScalarValue::Float64(value) => *value,
        _ => None,
    }
}

fn origin_in<'a>(column: &Column, inputs: &[&'a LogicalPlan]) -> Origin<'a> {
    let mut inputs = inputs.iter();
    let input = inputs.find(|input| input.schema().has_column(column));
    input.map_or(Origin::Unknown, |input| origin(column, input))
}

fn origin<'a>(column: &Column, plan: &'a LogicalPlan) -> Origin<'a> {
    let Some(place) = plan.schema().maybe_index_of_column(column) else {
        return Origin::Unknown;
    };
    let computed =
        |expr: Option<&'a Expr>| expr.map_or(Origin::Unknown, |expr| Origin::Computed(expr, plan));
    match plan {
        LogicalPlan::TableScan(scan) => Origin::Table {
            is_stored: source_as_provider(&scan.source).is_ok_and(|provider| {
                let provider: &dyn Any = provider.as_ref();
                provider.is::<StoredTable>()
            }),
        },
        LogicalPlan::Projection(projection) => computed(projection.expr.get(place)),
        LogicalPlan::SubqueryAlias(alias) => {
            let columns = alias.input.schema().columns();
            let own = columns.get(place);
            own.map_or(Origin::Unknown, |column| origin(column, &alias.input))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let groups = aggregate.group_expr.as_slice();
            match groups {
                [Expr::GroupingSet(_)] => origin_in(column, &plan.inputs()),
                groups => computed(groups.iter().chain(&aggregate.aggr_expr).nth(place)),
            }
        }
        LogicalPlan::Window(window) => {
            let columns = window.input.schema().fields().len();
            match place.checked_sub(columns) {
                Some(place) => computed(window.window_expr.get(place)),
                None => origin(column, &window.input),
            }
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Sort(_) => origin_in(column, &plan.inputs()),
        _ => Origin::Unknown,
    }
}

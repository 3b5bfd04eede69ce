//! DuckDB's names of functions of DataFusion and tsql.

use datafusion::prelude::SessionContext;

/// Aggregate functions: alias and existing function.
const AGGREGATES: [(&str, &str); 6] = [
    ("approx_count_distinct", "approx_distinct"),
    ("approx_quantile", "approx_percentile_cont"),
    ("first", "first_value"),
    ("group_concat", "string_agg"),
    ("last", "last_value"),
    ("list", "array_agg"),
];

/// Scalar functions: alias and existing function.
const SCALARS: [(&str, &str); 6] = [
    ("datediff", "date_diff"),
    ("list_mean", "array_avg"),
    ("list_min", "array_min"),
    ("list_value", "make_array"),
    ("regexp_matches", "regexp_like"),
    ("strftime", "to_char"),
];

/// Registers the aliases in a session that has DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    let state = context.state();
    for (alias, name) in AGGREGATES {
        if let Some(known) = state.aggregate_functions().get(name) {
            context.register_udaf(known.as_ref().clone().with_aliases([alias]));
        }
    }
    for (alias, name) in SCALARS {
        if let Some(known) = state.scalar_functions().get(name) {
            context.register_udf(known.as_ref().clone().with_aliases([alias]));
        }
    }
}

//! Names that DuckDB has for functions of DataFusion and of ours.

use datafusion::prelude::SessionContext;

/// Aggregates: the name that is typed, and the function that there is.
const AGGREGATES: [(&str, &str); 6] = [
    ("approx_count_distinct", "approx_distinct"),
    ("approx_quantile", "approx_percentile_cont"),
    ("first", "first_value"),
    ("group_concat", "string_agg"),
    ("last", "last_value"),
    ("list", "array_agg"),
];

/// Functions of a row.
const SCALARS: [(&str, &str); 6] = [
    ("datediff", "date_diff"),
    ("list_mean", "array_avg"),
    ("list_min", "array_min"),
    ("list_value", "make_array"),
    ("regexp_matches", "regexp_like"),
    ("strftime", "to_char"),
];

/// Makes them known to a session that has DataFusion's functions.
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

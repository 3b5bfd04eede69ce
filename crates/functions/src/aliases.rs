//! DuckDB's names of functions of DataFusion and tsql.

use datafusion::prelude::SessionContext;

/// Aggregate functions: alias and existing function.
const AGGREGATES: [(&str, &str); 10] = [
    ("approx_count_distinct", "approx_distinct"),
    ("approx_quantile", "approx_percentile_cont"),
    ("arbitrary", "first_value"),
    ("argmax", "arg_max"),
    ("argmin", "arg_min"),
    ("first", "first_value"),
    ("geometric_mean", "geomean"),
    ("group_concat", "string_agg"),
    ("last", "last_value"),
    ("list", "array_agg"),
];

/// Scalar functions: alias and existing function.
const SCALARS: [(&str, &str); 20] = [
    ("ceiling", "ceil"),
    ("datediff", "date_diff"),
    ("gen_random_uuid", "uuid"),
    ("lcase", "lower"),
    ("list_mean", "array_avg"),
    ("list_min", "array_min"),
    ("list_pack", "make_array"),
    ("list_value", "make_array"),
    ("ord", "ascii"),
    ("prefix", "starts_with"),
    ("regexp_matches", "regexp_like"),
    ("sign", "signum"),
    ("str_split", "string_to_array"),
    ("strftime", "to_char"),
    ("string_split", "string_to_array"),
    ("strlen", "octet_length"),
    ("struct_extract", "get_field"),
    ("suffix", "ends_with"),
    ("typeof", "arrow_typeof"),
    ("ucase", "upper"),
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

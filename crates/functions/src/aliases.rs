//! DuckDB's names of functions of DataFusion and tsql.

use datafusion::prelude::SessionContext;

/// Aggregate functions: existing function and its aliases.
const AGGREGATES: [(&str, &[&str]); 9] = [
    ("approx_distinct", &["approx_count_distinct"]),
    ("approx_percentile_cont", &["approx_quantile"]),
    ("arg_max", &["argmax"]),
    ("arg_min", &["argmin"]),
    ("array_agg", &["list"]),
    ("first_value", &["arbitrary", "first"]),
    ("geomean", &["geometric_mean"]),
    ("last_value", &["last"]),
    ("string_agg", &["group_concat"]),
];

/// Scalar functions: existing function and its aliases.
const SCALARS: [(&str, &[&str]); 18] = [
    ("array_avg", &["list_mean"]),
    ("array_min", &["list_min"]),
    ("arrow_typeof", &["typeof"]),
    ("ascii", &["ord"]),
    ("ceil", &["ceiling"]),
    ("date_diff", &["datediff"]),
    ("ends_with", &["suffix"]),
    ("get_field", &["struct_extract"]),
    ("lower", &["lcase"]),
    ("make_array", &["list_pack", "list_value"]),
    ("octet_length", &["strlen"]),
    ("regexp_like", &["regexp_matches"]),
    ("signum", &["sign"]),
    ("starts_with", &["prefix"]),
    ("string_to_array", &["str_split", "string_split"]),
    ("to_char", &["strftime"]),
    ("upper", &["ucase"]),
    ("uuid", &["gen_random_uuid"]),
];

/// Registers the aliases in a session that has DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, aliases) in AGGREGATES {
        if let Some(known) = state.aggregate_functions().get(name) {
            let aliases = aliases.iter().copied();
            context.register_udaf(known.as_ref().clone().with_aliases(aliases));
        }
    }
    for (name, aliases) in SCALARS {
        if let Some(known) = state.scalar_functions().get(name) {
            let aliases = aliases.iter().copied();
            context.register_udf(known.as_ref().clone().with_aliases(aliases));
        }
    }
}

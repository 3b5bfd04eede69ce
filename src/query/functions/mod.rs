//! SQL functions of tsql, one file each. Registered by name, so that a plan that uses them runs on
//! any worker that has called [`register`].
//!
//! What is said of a function (`about`) and what it does stand together: a `scalar` has values of a
//! row, an `aggregate` the rows of a group. Aggregates that measure something are metrics of
//! `tsql_metrics`; they are listed there, and made by `metric`.

mod about;
mod aggregate;
mod aliases;
mod lists;
mod metric;
mod scalar;

pub(super) mod count_distinct_dense;
mod extreme_by;
mod fill_sketch;
mod hlo_opcode;
mod json_text;
mod list_statistics;
mod listed;
mod lossy_text;
mod macro_speedup_score;
mod node_feature;
mod odd_repeats;
mod open_sketch;
mod packed_repeats;
mod percentile_cont;
mod scaled;
mod sketch_params;
mod speedup;
#[cfg(test)]
mod tests;
mod time_at;
mod unpack_calls;
mod unpack_checks;
mod unpack_graph;
mod unpack_tasks;
mod unpack_tensors;
mod workload;

use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionContext;

use self::scalar::Scalar;
pub use listed::{Function, FunctionKind, function, functions};

/// Those of the values of a row.
fn scalars() -> Vec<Scalar> {
    let mut scalars = vec![
        fill_sketch::function(),
        hlo_opcode::function(),
        json_text::field(),
        json_text::key(),
        json_text::lines(),
        lossy_text::function(),
        macro_speedup_score::function(),
        node_feature::one(),
        node_feature::all(),
        odd_repeats::flags(),
        odd_repeats::repeats(),
        open_sketch::function(),
        packed_repeats::list(),
        packed_repeats::least(),
        packed_repeats::noise(),
        scaled::function(),
        sketch_params::function(),
        time_at::function(),
        unpack_calls::uses(),
        unpack_calls::named_nodes(),
        unpack_checks::checks(),
        unpack_checks::passes_at(),
        unpack_graph::nodes(),
        unpack_graph::edges(),
        unpack_graph::steps(),
        unpack_tasks::operations(),
        unpack_tasks::uses(),
        unpack_tensors::function(),
        workload::name(),
        workload::args(),
        speedup::function(),
    ];
    scalars.extend(list_statistics::all());
    scalars
}

/// Those of the rows of a group.
fn aggregates() -> Vec<AggregateUDF> {
    metric::all()
        .chain(extreme_by::all())
        .chain([count_distinct_dense::aggregate()])
        .map(AggregateUDF::from)
        .chain([percentile_cont::udaf()])
        .collect()
}

/// Makes them known to a session.
pub(crate) fn register(context: &SessionContext) {
    for function in scalars() {
        context.register_udf(function.into());
    }
    for aggregate in aggregates() {
        context.register_udaf(aggregate);
    }
    aliases::register(context);
}

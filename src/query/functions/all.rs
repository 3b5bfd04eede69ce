//! All functions of ours, and how a session gets them.

use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionContext;

use super::aggregate::Aggregate;
use super::canonical_float::CANONICAL_FLOAT;
use super::elements::Named;
use super::scalar::Scalar;
use super::{
    aliases, array_agg, blocks, count_distinct_dense, counted, date_diff, date_trunc, digests,
    extreme_by, fill_sketch, first_by_order, float_extremes, histogram, hlo_cost, hlo_opcode,
    json_text, keys, khop, len, list_statistics, lossy_text, macro_speedup_score, median,
    merge_labels, metric, named_cast, node_feature, odd_repeats, open_sketch, packed_repeats,
    part_in_table, part_of_split, percentile_cont, pooled, scaled, schedule, segments,
    sketch_params, sliding, speedup, split, task_bytes, time_at, unpack_calls, unpack_checks,
    unpack_graph, unpack_tasks, unpack_tensors, workload, workload_shape,
};

/// Those of the values of a row.
pub(super) fn scalars() -> Vec<Scalar> {
    let mut scalars = vec![
        blocks::kind(),
        blocks::nodes(),
        blocks::runs(),
        date_diff::function(),
        fill_sketch::function(),
        hlo_cost::bytes(),
        hlo_cost::flops(),
        hlo_opcode::function(),
        json_text::field(),
        json_text::key(),
        json_text::lines(),
        khop::function(),
        len::function(),
        lossy_text::function(),
        macro_speedup_score::function(),
        merge_labels::function(),
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
        task_bytes::bytes(),
        unpack_tasks::operations(),
        unpack_tasks::uses(),
        unpack_tensors::function(),
        workload::name(),
        workload::args(),
        speedup::function(),
        schedule::schedule_numbers(),
        schedule::tlp_tokens(),
        part_in_table::function(),
        part_of_split::function(),
        segments::function(),
        workload_shape::function(),
        split::part(),
        split::version(),
        digests::md5(),
        digests::sha256(),
        digests::xxh3_64(),
        keys::of_configuration(),
        keys::of_environment(),
        keys::of_graph(),
        keys::bytes(),
        keys::text(),
    ];
    scalars.extend(list_statistics::all());
    scalars
}

/// Those of the rows of a group.
pub(super) fn aggregates() -> Vec<AggregateUDF> {
    metric::all()
        .chain(extreme_by::all())
        .chain(counted::all())
        .chain([count_distinct_dense::aggregate()])
        .chain(features())
        .map(AggregateUDF::from)
        .chain([array_agg::udaf(), median::udaf(), percentile_cont::udaf()])
        .collect()
}

/// Features of graphs.
fn features() -> impl Iterator<Item = Aggregate> {
    histogram::all().into_iter().chain(pooled::all())
}

/// The functions that give lists whose elements have names, and what makes these.
pub(super) fn elements() -> Vec<(&'static str, Named)> {
    let scalars = scalars();
    let of_rows = scalars.iter().filter_map(Scalar::elements);
    let of_groups: Vec<_> = features().filter_map(|one| one.elements()).collect();
    of_rows.chain(of_groups).collect()
}

/// Makes them known to a session.
pub(crate) fn register(context: &SessionContext) {
    for function in scalars() {
        context.register_udf(function.into());
    }
    context.register_udf(date_trunc::udf());
    context.register_udf(CANONICAL_FLOAT.as_ref().clone());
    context.register_udf(named_cast::FUNCTION.clone());
    let by_order = [first_by_order::first_value(), first_by_order::last_value()];
    let aggregates = aggregates().into_iter().chain(sliding::udafs());
    for aggregate in aggregates.chain(by_order).chain(float_extremes::udafs()) {
        context.register_udaf(aggregate);
    }
    aliases::register(context);
}

//! All functions of tsql, and their registration.

use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionContext;

use super::aggregate::Aggregate;
use super::canonical_float::CANONICAL_FLOAT;
use super::elements::ElementNamesFn;
use super::scalar::Scalar;
use super::{
    aliases, array_agg, blocks, change_points, checked_arithmetic, count_aggregates,
    count_distinct_dense, date_diff, date_trunc, digests, extreme_by, fill_sketch, first_by_order,
    float_extremes, histogram, hlo_cost, hlo_opcode, json_text, keys, khop, len, list_statistics,
    lossy_text, macro_speedup_score, median, merge_labels, metric, metric_lists, named_cast,
    node_feature, odd_repeats, open_sketch, packed_repeats, part_in_table, part_of_split,
    percentile_cont, pooled, scaled, schedule, segments, sketch_params, sliding, speedup, split,
    task_bytes, time_at, unpack_calls, unpack_checks, unpack_graph, unpack_tasks, unpack_tensors,
    workload, workload_shape,
};

/// All scalar functions.
pub(super) fn scalars() -> Vec<Scalar> {
    let mut scalars = vec![
        blocks::kind_udf(),
        blocks::nodes_udf(),
        blocks::runs_udf(),
        change_points::of_list(),
        date_diff::function(),
        fill_sketch::function(),
        hlo_cost::byte_count_udf(),
        hlo_cost::flop_count_udf(),
        hlo_opcode::function(),
        json_text::json_text_udf(),
        json_text::json_elements_udf(),
        json_text::json_keys_udf(),
        json_text::sample_key_udf(),
        json_text::lines_udf(),
        khop::function(),
        len::function(),
        lossy_text::function(),
        macro_speedup_score::function(),
        merge_labels::function(),
        metric_lists::metric_udf(),
        metric_lists::unpack_metrics_udf(),
        node_feature::node_feature_udf(),
        node_feature::node_features_udf(),
        odd_repeats::flags(),
        odd_repeats::disturbed_repeats_udf(),
        open_sketch::function(),
        packed_repeats::repeats_udf(),
        packed_repeats::min_repeat_udf(),
        packed_repeats::repeat_noise_udf(),
        scaled::function(),
        sketch_params::function(),
        time_at::function(),
        unpack_calls::uses_udf(),
        unpack_calls::named_nodes_udf(),
        unpack_checks::checks_udf(),
        unpack_checks::passes_at(),
        unpack_graph::nodes_udf(),
        unpack_graph::edges_udf(),
        unpack_graph::steps_udf(),
        task_bytes::task_bytes_udf(),
        unpack_tasks::operations_udf(),
        unpack_tasks::uses_udf(),
        unpack_tensors::function(),
        workload::workload_name_udf(),
        workload::workload_args_udf(),
        speedup::function(),
        schedule::schedule_numbers(),
        schedule::tlp_tokens(),
        part_in_table::function(),
        part_of_split::function(),
        segments::function(),
        workload_shape::function(),
        split::split_udf(),
        split::table_version_udf(),
        digests::md5(),
        digests::sha256(),
        digests::xxh3_64(),
        keys::config_key_udf(),
        keys::environment_key_udf(),
        keys::graph_key_udf(),
        keys::key_bytes_udf(),
        keys::key_text_udf(),
    ];
    scalars.extend(list_statistics::all());
    scalars
}

/// All aggregate functions.
pub(super) fn aggregates() -> Vec<AggregateUDF> {
    metric::all()
        .chain(extreme_by::all())
        .chain(count_aggregates::all())
        .chain([count_distinct_dense::aggregate()])
        .chain(features())
        .map(AggregateUDF::from)
        .chain([
            array_agg::udaf(),
            change_points::aggregate(),
            median::udaf(),
            percentile_cont::udaf(),
        ])
        .collect()
}

/// Aggregates that compute graph features.
fn features() -> impl Iterator<Item = Aggregate> {
    histogram::all().into_iter().chain(pooled::all())
}

/// Functions that return lists with named elements, and the constructors of these names.
pub(super) fn elements() -> Vec<(&'static str, ElementNamesFn)> {
    let scalars = scalars();
    let of_rows = scalars.iter().filter_map(Scalar::elements);
    let of_groups: Vec<_> = features().filter_map(|one| one.elements()).collect();
    of_rows.chain(of_groups).collect()
}

/// Registers all functions in a session.
pub fn register(context: &SessionContext) {
    for function in scalars() {
        context.register_udf(function.into());
    }
    context.register_udf(date_trunc::udf());
    context.register_udf(CANONICAL_FLOAT.as_ref().clone());
    context.register_udf(named_cast::FUNCTION.clone());
    for function in checked_arithmetic::all() {
        context.register_udf(function);
    }
    let by_order = [first_by_order::first_value(), first_by_order::last_value()];
    let aggregates = aggregates().into_iter().chain(sliding::udafs());
    for aggregate in aggregates.chain(by_order).chain(float_extremes::udafs()) {
        context.register_udaf(aggregate);
    }
    aliases::register(context);
}

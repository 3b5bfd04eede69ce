//! Checks that distributed rows arrive in the order that plan nodes rely on.
//!
//! A single-machine plan knows the row order of its files, and aggregates and windows rely on it. Rows of
//! several tasks arrive in any order, but the nodes that receive them claim the order of each task
//! (`datafusion-distributed` 4). So this module rebuilds the plan with receiving nodes that claim no order. It
//! then compares the required ordering of each node with the rebuilt plan.
//!
//! The head of a plan runs as it was planned. A worker decodes a stage from bytes. There, receiving nodes claim
//! no order, and aggregates adapt to their actual input. Windows and merges keep their required ordering.

use std::sync::Arc;

use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use datafusion_distributed::{NetworkBoundaryExt as _, NetworkCoalesceExec, Stage};

/// Checks a stage, or the head of a plan, which runs on this machine.
///
/// # Errors
/// The node whose required input ordering is not met.
pub(super) fn check_order(plan: &Arc<dyn ExecutionPlan>, is_head: bool) -> Result<(), String> {
    with_actual_order(plan, is_head).map(|_| ())
}

/// Rebuilds the plan so that each node reports the actual order of its rows.
fn with_actual_order(
    plan: &Arc<dyn ExecutionPlan>,
    is_head: bool,
) -> Result<Arc<dyn ExecutionPlan>, String> {
    if let Some(boundary) = plan.as_network_boundary() {
        // Each of its partitions is a partition of one task.
        if let (Some(_), Stage::Local(stage)) = (
            plan.downcast_ref::<NetworkCoalesceExec>(),
            boundary.input_stage(),
        ) {
            return with_actual_order(&stage.plan, false);
        }
        let partitions = plan.output_partitioning().partition_count();
        return Ok(Arc::new(
            EmptyExec::new(plan.schema()).with_partitions(partitions),
        ));
    }
    let children = plan.children().into_iter();
    let children = children.map(|child| with_actual_order(child, is_head));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let again = replace_children_if_necessary(Arc::clone(plan), children.clone());
    let again = again.map_err(|error| error.to_string())?;
    let runs = if is_head { plan } else { &again };
    for (child, wanted) in children.iter().zip(runs.required_input_ordering()) {
        let Some(wanted) = wanted else { continue };
        let comes = child.equivalence_properties();
        let is_met = comes.ordering_satisfy_requirement(wanted.into_single());
        if !is_met.map_err(|error| error.to_string())? {
            let name = plan.name();
            return Err(format!("{name} would read rows in another order"));
        }
    }
    Ok(again)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::col;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::Partitioning;
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::physical_plan::sorts::sort::SortExec;
    use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
    use datafusion_distributed::NetworkShuffleExec;

    use super::*;

    #[test]
    fn rows_of_several_tasks_are_in_no_order() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let key = col("a", &schema).unwrap();
        let order = LexOrdering::new([PhysicalSortExpr::new_default(Arc::clone(&key))]).unwrap();
        let sorted = SortExec::new(order.clone(), Arc::new(EmptyExec::new(schema)));
        let by = Partitioning::Hash(vec![key], 2);
        let parts: Arc<dyn ExecutionPlan> =
            Arc::new(RepartitionExec::try_new(Arc::new(sorted), by).unwrap());
        let merged = |input: Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
            Arc::new(SortPreservingMergeExec::new(order.clone(), input))
        };
        for is_head in [true, false] {
            assert_eq!(check_order(&merged(Arc::clone(&parts)), is_head), Ok(()));
            let shuffled = NetworkShuffleExec::try_new(Arc::clone(&parts), 2).unwrap();
            let told = check_order(&merged(Arc::new(shuffled)), is_head).unwrap_err();
            assert!(told.starts_with("SortPreservingMergeExec would"), "{told}");
        }
    }
}

//! Checks that a plan that was cut into stages gives the same result.
//!
//! Each task of a stage runs the same nodes over its own subset of the rows. That is correct only if no node
//! needs rows of another task. The check covers every node of every stage, whatever the planner did, and
//! rejects unknown nodes:
//!
//! | rows of a task | source | allowed consumers |
//! |---|---|---|
//! | a slice | a divided scan, or partitions of stages | row-wise operators, partial aggregates |
//! | all rows of its keys | a shuffle | aggregates, joins and windows by these keys |
//! | all rows | a broadcast, a constant | the build side of a join; never the stage's own output |

use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    Distribution, ExecutionPlan, ExecutionPlanProperties as _, Partitioning,
};
use datafusion_distributed::{
    BroadcastExec, DistributedLeafExec, NetworkBoundaryExt as _, NetworkBroadcastExec,
    NetworkShuffleExec, Stage,
};
use tsql_store::scan_of_store;

use super::order::check_order;

/// The subset of rows that a task of a stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowCoverage {
    /// A disjoint subset.
    Slice,
    /// A disjoint subset that is complete for each value of the shuffle keys.
    Keys,
    /// All rows, the same in every task.
    All,
}

/// Reason why workers do not run a plan.
type Rejection = String;

/// Returns all stages below the head of a plan.
///
/// # Errors
/// The node that a worker would run incorrectly or does not support.
pub(super) fn check_plan(head: &Arc<dyn ExecutionPlan>) -> Result<Vec<Stage>, Rejection> {
    let mut stages = Vec::new();
    // The head is one task, on this machine.
    let mut heads = vec![(Arc::clone(head), 1, true)];
    while let Some((plan, tasks, is_head)) = heads.pop() {
        check_order(&plan, is_head)?;
        if tasks > 1 && task_rows(&plan)? == RowCoverage::All {
            return Err(format!(
                "{} would return each row {tasks} times",
                plan.name()
            ));
        }
        let mut boundaries = Vec::new();
        collect_inputs(&plan, &mut boundaries);
        for boundary in boundaries {
            let Stage::Local(stage) = &boundary else {
                return Err("a stage has no plan".to_owned());
            };
            check_nodes(&stage.plan)?;
            heads.push((Arc::clone(&stage.plan), stage.tasks, false));
            stages.push(boundary);
        }
    }
    Ok(stages)
}

/// Collects the input stages of a stage.
fn collect_inputs(plan: &Arc<dyn ExecutionPlan>, found: &mut Vec<Stage>) {
    if let Some(boundary) = plan.as_network_boundary() {
        found.push(boundary.input_stage().clone());
        return;
    }
    for child in plan.children() {
        collect_inputs(child, found);
    }
}

/// Checks that workers support all nodes of a stage.
fn check_nodes(plan: &Arc<dyn ExecutionPlan>) -> Result<(), Rejection> {
    check_node(plan)?;
    if plan.is_network_boundary() {
        return Ok(());
    }
    plan.children().into_iter().try_for_each(check_nodes)
}

/// Checks that workers support a node. A worker calls this too, for each plan that it receives.
///
/// # Errors
/// The node is not supported.
pub fn check_node(plan: &Arc<dyn ExecutionPlan>) -> Result<(), Rejection> {
    macro_rules! is_any_of {
        ($($node:ty),* $(,)?) => { false $(|| plan.downcast_ref::<$node>().is_some())* };
    }
    let passes = is_any_of![
        AggregateExec,
        BoundedWindowAggExec,
        BroadcastExec,
        CoalescePartitionsExec,
        CooperativeExec,
        CrossJoinExec,
        EmptyExec,
        FilterExec,
        GlobalLimitExec,
        HashJoinExec,
        LocalLimitExec,
        NestedLoopJoinExec,
        PlaceholderRowExec,
        ProjectionExec,
        RepartitionExec,
        SortExec,
        SortMergeJoinExec,
        SortPreservingMergeExec,
        UnionExec,
        UnnestExec,
        WindowAggExec,
    ];
    let divided = plan.downcast_ref::<DistributedLeafExec>();
    let is_constant = |source: &DataSourceExec| {
        let source = source.data_source();
        source.downcast_ref::<MemorySourceConfig>().is_some()
    };
    let is_constant = plan
        .downcast_ref::<DataSourceExec>()
        .is_some_and(is_constant);
    let is_scan = match divided {
        Some(leaf) => leaf
            .variants()
            .iter()
            .all(|variant| scan_of_store(variant).is_some()),
        None => scan_of_store(plan).is_some(),
    };
    if passes || is_constant || is_scan || plan.is_network_boundary() {
        return Ok(());
    }
    Err(format!("workers do not support {}", plan.name()))
}

/// Returns the rows of a node's output that each task of a multi-task stage has.
fn task_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<RowCoverage, Rejection> {
    if plan.is_network_boundary() {
        let shuffled = plan.downcast_ref::<NetworkShuffleExec>().is_some();
        let broadcast = plan.downcast_ref::<NetworkBroadcastExec>().is_some();
        return Ok(match (shuffled, broadcast) {
            (true, _) => RowCoverage::Keys,
            (_, true) => RowCoverage::All,
            _ => RowCoverage::Slice,
        });
    }
    if plan.downcast_ref::<DistributedLeafExec>().is_some() {
        return Ok(RowCoverage::Slice);
    }
    let children = plan.children().into_iter().map(task_rows);
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let wanted = plan.input_distribution_requirements();
    for (place, (child, has)) in plan.children().into_iter().zip(&children).enumerate() {
        let is_met = match wanted.child_distribution(place) {
            None | Some(Distribution::UnspecifiedDistribution) => true,
            Some(Distribution::SinglePartition) => *has == RowCoverage::All,
            Some(keys) => {
                *has == RowCoverage::All
                    || *has == RowCoverage::Keys && is_partitioned_by(child, keys)
            }
        };
        if !is_met {
            return Err(format!(
                "{} would read only a part of the rows",
                plan.name()
            ));
        }
    }
    if limits_rows(plan) && children.iter().any(|has| *has != RowCoverage::All) {
        return Err(format!(
            "{} would return its first rows once per task",
            plan.name()
        ));
    }
    match children.as_slice() {
        // Constants, and undivided scans.
        [] => Ok(RowCoverage::All),
        // Its output partitions are those of one task.
        [RowCoverage::Keys] if repartitions(plan) => Ok(RowCoverage::Slice),
        [has] => Ok(*has),
        [left, right] if !is_union(plan) => join_rows(plan, *left, *right),
        _ => union_rows(plan, &children),
    }
}

/// Returns true if rows are partitioned by these keys over all tasks. A single partition per task proves
/// nothing, so at least two are assumed.
fn is_partitioned_by(plan: &Arc<dyn ExecutionPlan>, keys: &Distribution) -> bool {
    let Partitioning::Hash(by, partitions) = plan.output_partitioning() else {
        return false;
    };
    let of_several = Partitioning::Hash(by.clone(), (*partitions).max(2));
    let satisfied = of_several.satisfaction(keys, plan.equivalence_properties(), false);
    satisfied.is_satisfied()
}

/// Returns true if a node moves rows between the partitions of one task.
fn repartitions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<RepartitionExec>().is_some() || merges_partitions(plan)
}

fn merges_partitions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<SortPreservingMergeExec>().is_some()
}

/// Returns true if a node outputs only the first rows.
fn limits_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    merges_partitions(plan) && plan.fetch().is_some()
}

fn join_rows(
    plan: &Arc<dyn ExecutionPlan>,
    left: RowCoverage,
    right: RowCoverage,
) -> Result<RowCoverage, Rejection> {
    let hash = plan.downcast_ref::<HashJoinExec>();
    let merge = plan.downcast_ref::<SortMergeJoinExec>();
    let nested = plan.downcast_ref::<NestedLoopJoinExec>();
    let join = hash.map(|join| *join.join_type());
    let join = join.or_else(|| merge.map(|join| join.join_type()));
    let join = join.or_else(|| nested.map(|join| *join.join_type()));
    let cross = plan
        .downcast_ref::<CrossJoinExec>()
        .map(|_| JoinType::Inner);
    let Some(join) = join.or(cross) else {
        return Err(format!("workers do not support {}", plan.name()));
    };
    let wanted = plan.input_distribution_requirements();
    let by_keys = matches!(
        wanted.child_distribution(0),
        Some(Distribution::KeyPartitioned(_))
    );
    match (left, right) {
        (RowCoverage::All, RowCoverage::All) => Ok(RowCoverage::All),
        // A single task cannot know whether any key is NULL.
        (RowCoverage::Keys, RowCoverage::Keys)
            if by_keys && !hash.is_some_and(|join| join.null_aware) =>
        {
            Ok(RowCoverage::Keys)
        }
        (RowCoverage::All, _) if !by_keys && !gives_left_alone(join) => Ok(right),
        _ => Err(format!(
            "{} would join parts with different keys",
            plan.name()
        )),
    }
}

/// Returns true if a join outputs left rows without a match, or each left row once.
fn gives_left_alone(join: JoinType) -> bool {
    !matches!(
        join,
        JoinType::Inner
            | JoinType::Right
            | JoinType::RightSemi
            | JoinType::RightAnti
            | JoinType::RightMark
    )
}

fn is_union(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<UnionExec>().is_some()
}

fn union_rows(
    plan: &Arc<dyn ExecutionPlan>,
    children: &[RowCoverage],
) -> Result<RowCoverage, Rejection> {
    if !is_union(plan) {
        return Err(format!("workers do not support {}", plan.name()));
    }
    match children
        .iter()
        .filter(|has| **has == RowCoverage::All)
        .count()
    {
        0 => Ok(RowCoverage::Slice),
        all if all == children.len() => Ok(RowCoverage::All),
        _ => Err("UnionExec would return rows of one input once per task".to_owned()),
    }
}

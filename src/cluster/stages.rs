//! Is a plan that was cut into stages still the same plan?
//!
//! Each task of a stage runs the same nodes over its own part of the rows. That is right only where no node needs
//! rows that another task has. This looks at every node of every stage, whatever the planner made of it, and
//! at nothing that it does not know:
//!
//! | rows of a task | come from | may be needed as |
//! |---|---|---|
//! | a slice | a divided scan, or parts of stages | anything that takes rows one by one, partial aggregates |
//! | all rows of its keys | a shuffle | groups, joins and windows by these keys |
//! | all rows | a broadcast, a constant | the held side of a join; never as the stage's own output |

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

use super::order::in_order;
use crate::store::scan_of_store;

/// Which rows a task of a stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// Some, no other task the same.
    Slice,
    /// Some, and all that are equal in the keys that they were shuffled by.
    Keys,
    /// All, as every other task has.
    All,
}

/// Why a plan is not run by workers.
type Refused = String;

/// All stages below the head of a plan.
///
/// # Errors
/// The node that a worker would run wrongly or does not know.
pub(super) fn checked(head: &Arc<dyn ExecutionPlan>) -> Result<Vec<Stage>, Refused> {
    let mut stages = Vec::new();
    // The head is one task, and runs here.
    let mut heads = vec![(Arc::clone(head), 1, true)];
    while let Some((plan, tasks, is_head)) = heads.pop() {
        in_order(&plan, is_head)?;
        if tasks > 1 && rows(&plan)? == Rows::All {
            return Err(format!("{} would give each row {tasks} times", plan.name()));
        }
        let mut boundaries = Vec::new();
        collect(&plan, &mut boundaries);
        for boundary in boundaries {
            let Stage::Local(stage) = &boundary else {
                return Err("a stage has no plan".to_owned());
            };
            all_known(&stage.plan)?;
            heads.push((Arc::clone(&stage.plan), stage.tasks, false));
            stages.push(boundary);
        }
    }
    Ok(stages)
}

/// The stages that feed a stage.
fn collect(plan: &Arc<dyn ExecutionPlan>, found: &mut Vec<Stage>) {
    if let Some(boundary) = plan.as_network_boundary() {
        found.push(boundary.input_stage().clone());
        return;
    }
    for child in plan.children() {
        collect(child, found);
    }
}

/// Are all nodes of a stage known?
fn all_known(plan: &Arc<dyn ExecutionPlan>) -> Result<(), Refused> {
    known(plan)?;
    if plan.is_network_boundary() {
        return Ok(());
    }
    plan.children().into_iter().try_for_each(all_known)
}

/// Is it a node that workers run? Also what a worker asks of a plan that it is given.
///
/// # Errors
/// Where it is not.
pub(crate) fn known(plan: &Arc<dyn ExecutionPlan>) -> Result<(), Refused> {
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
    Err(format!("workers do not run {}", plan.name()))
}

/// Which rows of a node's output a task of a stage of several has.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> Result<Rows, Refused> {
    if plan.is_network_boundary() {
        let shuffled = plan.downcast_ref::<NetworkShuffleExec>().is_some();
        let broadcast = plan.downcast_ref::<NetworkBroadcastExec>().is_some();
        return Ok(match (shuffled, broadcast) {
            (true, _) => Rows::Keys,
            (_, true) => Rows::All,
            _ => Rows::Slice,
        });
    }
    if plan.downcast_ref::<DistributedLeafExec>().is_some() {
        return Ok(Rows::Slice);
    }
    let children = plan.children().into_iter().map(rows);
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let wanted = plan.input_distribution_requirements();
    for (place, (child, has)) in plan.children().into_iter().zip(&children).enumerate() {
        let is_met = match wanted.child_distribution(place) {
            None | Some(Distribution::UnspecifiedDistribution) => true,
            Some(Distribution::SinglePartition) => *has == Rows::All,
            Some(keys) => *has == Rows::All || *has == Rows::Keys && is_by(child, keys),
        };
        if !is_met {
            return Err(format!("{} would see a part of the rows", plan.name()));
        }
    }
    if fetched(plan) && children.iter().any(|has| *has != Rows::All) {
        return Err(format!(
            "{} would take its first rows in each task",
            plan.name()
        ));
    }
    match children.as_slice() {
        // Constants, and scans that were not divided.
        [] => Ok(Rows::All),
        // Its parts are those of one task.
        [Rows::Keys] if mixes(plan) => Ok(Rows::Slice),
        [has] => Ok(*has),
        [left, right] if !is_union(plan) => joined(plan, *left, *right),
        _ => of_union(plan, &children),
    }
}

/// Are rows in partitions by these keys, over all tasks? A single partition of a task says nothing of that.
fn is_by(plan: &Arc<dyn ExecutionPlan>, keys: &Distribution) -> bool {
    let Partitioning::Hash(by, partitions) = plan.output_partitioning() else {
        return false;
    };
    let of_several = Partitioning::Hash(by.clone(), (*partitions).max(2));
    let satisfied = of_several.satisfaction(keys, plan.equivalence_properties(), false);
    satisfied.is_satisfied()
}

/// Does a node put rows into other partitions, of one task?
fn mixes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<RepartitionExec>().is_some() || gathers(plan)
}

fn gathers(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<SortPreservingMergeExec>().is_some()
}

/// Does a node end with the first rows of all?
fn fetched(plan: &Arc<dyn ExecutionPlan>) -> bool {
    gathers(plan) && plan.fetch().is_some()
}

fn joined(plan: &Arc<dyn ExecutionPlan>, left: Rows, right: Rows) -> Result<Rows, Refused> {
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
        return Err(format!("workers do not run {}", plan.name()));
    };
    let wanted = plan.input_distribution_requirements();
    let by_keys = matches!(
        wanted.child_distribution(0),
        Some(Distribution::KeyPartitioned(_))
    );
    match (left, right) {
        (Rows::All, Rows::All) => Ok(Rows::All),
        // Whether there is a NULL at all, one task does not know.
        (Rows::Keys, Rows::Keys) if by_keys && !hash.is_some_and(|join| join.null_aware) => {
            Ok(Rows::Keys)
        }
        (Rows::All, _) if !by_keys && !gives_left_alone(join) => Ok(right),
        _ => Err(format!(
            "{} would join parts that do not belong together",
            plan.name()
        )),
    }
}

/// Does a join give rows of its left side without a partner, or once whatever partners they have?
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

fn of_union(plan: &Arc<dyn ExecutionPlan>, children: &[Rows]) -> Result<Rows, Refused> {
    if !is_union(plan) {
        return Err(format!("workers do not run {}", plan.name()));
    }
    match children.iter().filter(|has| **has == Rows::All).count() {
        0 => Ok(Rows::Slice),
        all if all == children.len() => Ok(Rows::All),
        _ => Err("UnionExec would give rows of one part in each task".to_owned()),
    }
}

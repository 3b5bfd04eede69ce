//! Terms of a join condition that compare both sides.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{JoinSide, JoinType, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;

/// A comparison of both sides, with strict operators relaxed to `<=` or `>=`.
#[derive(Clone, Debug)]
pub(super) struct RangeTerm {
    /// Expression over the build side.
    pub(super) held: Arc<dyn PhysicalExpr>,
    /// Expression over the probe side.
    pub(super) probe: Arc<dyn PhysicalExpr>,
    /// `held <= probe` if true, `held >= probe` if not.
    pub(super) is_at_most: bool,
}

impl std::fmt::Display for RangeTerm {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operator = if self.is_at_most { "<=" } else { ">=" };
        write!(to, "{} {operator} {}", self.held, self.probe)
    }
}

/// Returns up to two terms by which pairs are searched; none if there are no range terms.
pub(super) fn range_terms(join: &NestedLoopJoinExec) -> Result<Vec<RangeTerm>> {
    let is_supported = !matches!(join.join_type(), JoinType::LeftMark | JoinType::RightMark);
    let Some(filter) = join.filter().filter(|_| is_supported) else {
        return Ok(Vec::new());
    };
    let (held, probe) = (join.left().schema(), join.right().schema());
    let mut terms = Vec::new();
    for part in split_conjunction(filter.expression()) {
        if let Some(term) = range_term(part, filter)?
            && is_sortable(&term, &held, &probe)?
            && terms.len() < 2
        {
            terms.push(term);
        }
    }
    Ok(terms)
}

/// Returns the range term of a conjunct, if it compares both sides.
fn range_term(part: &Arc<dyn PhysicalExpr>, filter: &JoinFilter) -> Result<Option<RangeTerm>> {
    let Some(compared) = part.downcast_ref::<BinaryExpr>() else {
        return Ok(None);
    };
    let is_at_most = match compared.op() {
        Operator::Lt | Operator::LtEq => true,
        Operator::Gt | Operator::GtEq => false,
        _ => return Ok(None),
    };
    let (left, right) = (compared.left(), compared.right());
    let (held, probe, is_at_most) = match (side(left, filter)?, side(right, filter)?) {
        (Some(JoinSide::Left), Some(JoinSide::Right)) => (left, right, is_at_most),
        (Some(JoinSide::Right), Some(JoinSide::Left)) => (right, left, !is_at_most),
        _ => return Ok(None),
    };
    Ok(Some(RangeTerm {
        held: over_side(held, filter)?,
        probe: over_side(probe, filter)?,
        is_at_most,
    }))
}

/// Returns the side of all columns of an expression; `None` for columns of both sides, no columns, and volatile
/// expressions.
fn side(expr: &Arc<dyn PhysicalExpr>, filter: &JoinFilter) -> Result<Option<JoinSide>> {
    let mut sides = Vec::new();
    expr.apply(|part| {
        if let Some(column) = part.downcast_ref::<Column>() {
            let index = filter.column_indices().get(column.index());
            sides.push(index.map_or(JoinSide::None, |index| index.side));
        } else if part.is_volatile_node() {
            sides.push(JoinSide::None);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    sides.dedup();
    Ok(match sides.as_slice() {
        [side @ (JoinSide::Left | JoinSide::Right)] => Some(*side),
        _ => None,
    })
}

/// Rewrites an expression from the columns of the filter to those of its side.
fn over_side(expr: &Arc<dyn PhysicalExpr>, filter: &JoinFilter) -> Result<Arc<dyn PhysicalExpr>> {
    let columns = filter.column_indices();
    Arc::clone(expr)
        .transform(|part| {
            let Some(column) = part.downcast_ref::<Column>() else {
                return Ok(Transformed::no(part));
            };
            Ok(match columns.get(column.index()) {
                Some(index) => {
                    Transformed::yes(Arc::new(Column::new(column.name(), index.index)) as _)
                }
                None => Transformed::no(part),
            })
        })
        .data()
}

/// Returns whether both expressions have the same type, and its encoded order equals the order of comparisons.
fn is_sortable(term: &RangeTerm, held: &Schema, probe: &Schema) -> Result<bool> {
    let data_type = term.held.data_type(held)?;
    Ok(data_type == term.probe.data_type(probe)?
        && (data_type.is_primitive() || data_type.is_string() || data_type.is_binary())
        && RowConverter::supports_fields(&[SortField::new(data_type)]))
}

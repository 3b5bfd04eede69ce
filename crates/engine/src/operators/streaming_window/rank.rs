//! `row_number()`, `rank()` and `dense_rank()`.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array};
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_plan::windows::WindowUDFExpr;

use super::keys::Starts;

/// A ranking function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ranking {
    /// Number of rows of the partition up to this one.
    RowNumber,
    /// Number of rows before the first of the same rank, plus one.
    Rank,
    /// Number of distinct ranks up to this one.
    DenseRank,
}

/// Ranks of the current row.
#[derive(Clone, Copy, Default)]
pub(super) struct RankCounts {
    row: u64,
    rank: u64,
    dense_rank: u64,
}

impl Ranking {
    pub(super) fn try_from_expr(expr: &dyn WindowExpr) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any();
        match function.downcast_ref::<WindowUDFExpr>()?.fun().name() {
            "row_number" => Some(Self::RowNumber),
            "rank" => Some(Self::Rank),
            "dense_rank" => Some(Self::DenseRank),
            _ => None,
        }
    }

    /// Returns the ranks of the next rows.
    pub(super) fn next(self, counts: &mut RankCounts, starts: &Starts) -> ArrayRef {
        let places = starts.per_row().map(|(begins_partition, begins_rank)| {
            if begins_partition {
                *counts = RankCounts::default();
            }
            counts.row += 1;
            if begins_rank {
                counts.rank = counts.row;
                counts.dense_rank += 1;
            }
            match self {
                Self::RowNumber => counts.row,
                Self::Rank => counts.rank,
                Self::DenseRank => counts.dense_rank,
            }
        });
        Arc::new(places.collect::<UInt64Array>())
    }
}

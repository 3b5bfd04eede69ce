//! Rejects frames such as `RANGE BETWEEN 1 PRECEDING AND CURRENT ROW` over an order by text or another type that has no
//! distances. DataFusion 55 casts the offset to that type, and returns rows that mean nothing.
//!
//! Upstream: not filed, docs/dev/upstream/range_offsets.md

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    Expr, ExprSchemable as _, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits,
};
use datafusion::optimizer::AnalyzerRule;

/// Rejects offsets of RANGE frames over types without distances.
#[derive(Debug)]
pub(super) struct RejectRangeOffsets;

impl AnalyzerRule for RejectRangeOffsets {
    fn name(&self) -> &'static str {
        "range_offsets"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            if let LogicalPlan::Window(window) = &plan {
                for expr in &window.window_expr {
                    check(expr, &window.input)?;
                }
            }
            Ok(Transformed::no(plan))
        })
        .data()
    }
}

fn check(expr: &Expr, input: &LogicalPlan) -> Result<()> {
    let expr = expr.clone().unalias();
    let Expr::WindowFunction(call) = &expr else {
        return Ok(());
    };
    let params = &call.params;
    if !has_range_offset(&params.window_frame) {
        return Ok(());
    }
    for key in &params.order_by {
        let kind = key.expr.get_type(input.schema())?;
        if !has_distances(&kind) {
            return plan_err!(
                "a frame with RANGE and an offset needs an order by numbers or times, but `{}` is {kind}\n\
                 hint: ROWS instead of RANGE counts rows",
                key.expr
            );
        }
    }
    Ok(())
}

/// Returns whether a bound of a RANGE frame has an offset. An unbounded one is an offset of NULL.
fn has_range_offset(frame: &WindowFrame) -> bool {
    let has_offset = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => {
            !offset.is_null()
        }
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range
        && (has_offset(&frame.start_bound) || has_offset(&frame.end_bound))
}

fn has_distances(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, value) => has_distances(value),
        kind => kind.is_numeric() || kind.is_temporal() || matches!(kind, DataType::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;
    use crate::test_queries::collect;

    #[tokio::test]
    async fn distances_of_text_are_rejected() {
        let context = new_context(None).unwrap();
        let t = "(VALUES (1, 'a', TRUE), (2, 'b', FALSE)) AS t(x, s, b)";
        for key in ["s", "b", "s || 'x'"] {
            let sql = format!(
                "SELECT sum(x) OVER (ORDER BY {key} RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM {t}"
            );
            let error = collect(&context, &sql).await.unwrap_err().to_string();
            assert!(
                error.contains("needs an order by numbers or times"),
                "{error}"
            );
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn distances_of_numbers_and_frames_without_offsets_are_computed() {
        let context = new_context(None).unwrap();
        let t = "(VALUES (1, 'a'), (2, 'b'), (4, 'b')) AS t(x, s)";
        for (order, expected) in [
            (
                "ORDER BY x RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
                ["1|1", "2|3", "4|4"],
            ),
            (
                "ORDER BY s RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                ["1|1", "2|7", "4|7"],
            ),
            (
                "ORDER BY s RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                ["1|7", "2|6", "4|6"],
            ),
        ] {
            let sql = format!("SELECT x, sum(x) OVER ({order}) FROM {t} ORDER BY x");
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
    }
}

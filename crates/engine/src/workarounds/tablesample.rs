//! Rejects `TABLESAMPLE`: DataFusion parses it and returns all rows.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/13563>, <https://github.com/apache/datafusion/issues/16533>

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{
    RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::TableFactor;

/// Rejects `TABLESAMPLE`.
#[derive(Debug)]
pub(super) struct RejectTablesample;

impl RelationPlanner for RejectTablesample {
    fn plan_relation(
        &self,
        relation: TableFactor,
        _: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let sampled = match &relation {
            TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => {
                sample.is_some()
            }
            _ => false,
        };
        if sampled {
            return plan_err!(
                "TABLESAMPLE is not supported\nhint: WHERE random() < 0.01 selects about one row in a hundred"
            );
        }
        Ok(RelationPlanning::Original(Box::new(relation)))
    }
}

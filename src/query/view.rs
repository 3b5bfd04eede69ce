//! Views: SQL that reads like a table.

use datafusion::datasource::ViewTable;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

/// A view over what a session has.
pub(super) async fn view(context: &SessionContext, sql: String) -> Result<ViewTable> {
    let planned = context.sql(&sql).await.map_err(Error::Query)?;
    let plan = planned.into_optimized_plan().map_err(Error::Query)?;
    Ok(ViewTable::new(plan, Some(sql)))
}

//! Views.

use datafusion::datasource::ViewTable;
use datafusion::prelude::SessionContext;
use tsql_error::{Error, Result};

/// Plans a view over the tables of a session.
pub(super) async fn plan_view(context: &SessionContext, sql: String) -> Result<ViewTable> {
    let planned = context.sql(&sql).await.map_err(Error::Query)?;
    let plan = planned.into_optimized_plan().map_err(Error::Query)?;
    Ok(ViewTable::new(plan, Some(sql)))
}

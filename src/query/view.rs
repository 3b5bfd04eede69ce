//! Views: SQL that reads like a table.

use std::sync::Arc;

use datafusion::datasource::ViewTable;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

/// Registers a view, in the place of one that there may be.
pub(super) async fn view(context: &SessionContext, name: &str, sql: &str) -> Result<()> {
    let plan = context
        .sql(sql)
        .await
        .map_err(Error::Query)?
        .into_optimized_plan();
    let plan = plan.map_err(Error::Query)?;
    let view = ViewTable::new(plan, Some(sql.to_owned()));
    context.deregister_table(name).map_err(Error::Query)?;
    context
        .register_table(name, Arc::new(view))
        .map_err(Error::Query)?;
    Ok(())
}

//! Rows of a split.

use arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use tsql_dialect::{collect, plan_query};
use tsql_error::{Error, Result};

/// Rows of a query, or all records.
pub(super) struct Scope<'a> {
    context: &'a SessionContext,
    query: Option<&'a str>,
}

impl<'a> Scope<'a> {
    /// # Errors
    /// [`Error::Sql`] for invalid SQL; [`Error::Argument`] for a query without one of these columns.
    pub(super) async fn try_new(
        context: &'a SessionContext,
        query: Option<&'a str>,
        columns: &[&str],
    ) -> Result<Self> {
        if let Some(sql) = query {
            let schema = plan_query(context, sql).await?;
            let schema = schema.schema();
            let missing = columns
                .iter()
                .find(|column| !schema.has_column_with_unqualified_name(column));
            if let Some(column) = missing {
                return Err(Error::Argument {
                    name: "query",
                    reason: format!(
                        "the query has no column `{column}`, which the split needs\n\
                         hint: SELECT * FROM records WHERE ..."
                    ),
                });
            }
        }
        Ok(Self { context, query })
    }

    /// Runs an internal query in which `$rows` is replaced by the rows of the scope.
    pub(super) async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let rows = match self.query {
            Some(query) => format!("({})", query.trim().trim_end_matches(';')),
            None => "records".to_owned(),
        };
        collect(self.context, &sql.replace("$rows", &rows)).await
    }
}

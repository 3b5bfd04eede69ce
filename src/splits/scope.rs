//! The rows that a split is about.

use arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};
use crate::query::{collect, frame};

/// The rows of a query, or all records.
pub(super) struct Scope<'a> {
    context: &'a SessionContext,
    query: Option<&'a str>,
}

impl<'a> Scope<'a> {
    /// # Errors
    /// [`Error::Sql`] for what is no SQL; [`Error::Argument`] for a query without one of these columns.
    pub(super) async fn of(
        context: &'a SessionContext,
        query: Option<&'a str>,
        columns: &[&str],
    ) -> Result<Self> {
        if let Some(sql) = query {
            let schema = frame(context, sql).await?;
            let schema = schema.schema();
            let missing = columns
                .iter()
                .find(|column| !schema.has_column_with_unqualified_name(column));
            if let Some(column) = missing {
                return Err(Error::Argument {
                    name: "query",
                    reason: format!(
                        "the query has no column `{column}`, which the split needs of each row\n\
                         hint: SELECT * FROM records WHERE ..."
                    ),
                });
            }
        }
        Ok(Self { context, query })
    }

    /// Rows of a query of ours, in which `$rows` stands for those of the scope.
    pub(super) async fn ask(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let rows = match self.query {
            Some(query) => format!("({})", query.trim().trim_end_matches(';')),
            None => "records".to_owned(),
        };
        collect(self.context, &sql.replace("$rows", &rows)).await
    }
}

//! Reasons why a query has no result.

use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;

use super::named_query::{NamedQuery, RequiredRows};

impl NamedQuery {
    /// Describes the data that the store lacks for a non-empty result; `None` if it has all required rows.
    ///
    /// # Errors
    /// [`tsql_error::Error::Query`] if the store cannot be read.
    pub async fn missing_data(&self, context: &SessionContext) -> Result<Option<&str>> {
        for need in &self.needs {
            let sql = format!("SELECT 1 AS one FROM {} LIMIT 1", need.rows);
            let rows = collect(context, &sql).await?;
            if rows.iter().all(|batch| batch.num_rows() == 0) {
                return Ok(Some(&need.doc));
            }
        }
        Ok(None)
    }
}

impl RequiredRows {
    /// Returns whether the requirement is about rows of this table.
    pub(super) fn is_of_table(&self, table: &str) -> bool {
        self.rows.split_whitespace().next() == Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_missing_requirement_is_reported() {
        let context = SessionContext::new();
        let view = "CREATE VIEW t AS SELECT 1 AS a";
        context.sql(view).await.unwrap().collect().await.unwrap();
        let lacks = async |text: &str| {
            let question = NamedQuery::parse("q", text);
            let lacks = question.missing_data(&context).await.unwrap();
            lacks.map(str::to_owned)
        };
        assert_eq!(lacks("-- T.\nSELECT 1").await, None);
        let both = "-- T.\n-- needs t : rows\n-- needs t WHERE a > 1 : large rows\nSELECT 1";
        assert_eq!(lacks(both).await.as_deref(), Some("large rows"));
    }
}

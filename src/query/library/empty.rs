//! Why a question has no answer.

use datafusion::prelude::SessionContext;

use super::super::collect;
use super::question::{Need, Question};
use crate::error::Result;

impl Question {
    /// What the store lacks, in words, for an answer to have rows; `None` where it has all that the question needs.
    ///
    /// # Errors
    /// [`crate::Error::Query`] where the store cannot be read.
    pub async fn lacks(&self, context: &SessionContext) -> Result<Option<&str>> {
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

impl Need {
    /// Is it about rows of this table?
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.rows.split_whitespace().next() == Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_need_that_is_not_met_is_told() {
        let context = SessionContext::new();
        let view = "CREATE VIEW t AS SELECT 1 AS a";
        context.sql(view).await.unwrap().collect().await.unwrap();
        let lacks = async |text: &str| {
            let question = Question::parse("q", text);
            let lacks = question.lacks(&context).await.unwrap();
            lacks.map(str::to_owned)
        };
        assert_eq!(lacks("-- T.\nSELECT 1").await, None);
        let both = "-- T.\n-- needs t : rows\n-- needs t WHERE a > 1 : large rows\nSELECT 1";
        assert_eq!(lacks(both).await.as_deref(), Some("large rows"));
    }
}

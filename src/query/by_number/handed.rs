//! Rows that are on their way, as a plan.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

/// A plan with these rows, which it has once.
pub(super) fn handed(rows: SendableRecordBatchStream) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = rows.schema();
    let rows = Handed {
        schema: Arc::clone(&schema),
        rows: Mutex::new(Some(rows)),
    };
    let plan = StreamingTableExec::try_new(schema, vec![Arc::new(rows)], None, [], false, None)?;
    Ok(Arc::new(plan))
}

struct Handed {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for Handed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Handed").finish_non_exhaustive()
    }
}

impl PartitionStream for Handed {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.take().unwrap_or_else(|| {
            let error = exec_datafusion_err!("rows were taken already");
            let none = futures::stream::iter([Err(error)]);
            Box::pin(RecordBatchStreamAdapter::new(
                Arc::clone(&self.schema),
                none,
            ))
        })
    }
}

//! `search_spaces()`: coverage of the search spaces of a store, as a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, internal_datafusion_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use tsql_dialect::referenced_tables::SEARCH_SPACES;

use super::graph_records::{GraphCoverage, read_coverage};

/// Registers the table function.
pub(crate) fn register(context: &SessionContext) {
    context.register_udtf(SEARCH_SPACES, Arc::new(SearchSpaces));
}

/// The table function, which has no arguments.
#[derive(Debug)]
struct SearchSpaces;

impl TableFunctionImpl for SearchSpaces {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        if let Some(argument) = args.exprs().first() {
            return plan_err!(
                "{SEARCH_SPACES} has no argument `{argument}`\n\
                 hint: SELECT * FROM {SEARCH_SPACES}() WHERE platform = 'A100'"
            );
        }
        Ok(Arc::new(CoverageTable))
    }
}

/// Coverage of all graphs of autotuners, computed by each scan.
#[derive(Debug)]
struct CoverageTable;

#[async_trait]
impl TableProvider for CoverageTable {
    fn schema(&self) -> SchemaRef {
        let required = |name: &str, kind| Field::new(name, kind, false);
        let optional = |name: &str, kind| Field::new(name, kind, true);
        Arc::new(Schema::new(vec![
            required("graph_id", DataType::Int64),
            required("platform", DataType::Utf8),
            required("verdict", DataType::Utf8),
            optional("reason", DataType::Utf8),
            required("config_count", DataType::Int64),
            required("timed_count", DataType::Int64),
            optional("outside_count", DataType::Int64),
            optional("valid_count", DataType::Int64),
            optional("cartesian_count", DataType::Int64),
            optional("space_source_id", DataType::Int64),
        ]))
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state.as_any().downcast_ref::<SessionState>();
        let state = state.ok_or_else(|| internal_datafusion_err!("a session without a state"))?;
        let context = SessionContext::new_with_state(state.clone());
        let found = read_coverage(&context).await;
        let found = found.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let partitions = [vec![to_rows(&found, self.schema())?]];
        let scan =
            MemorySourceConfig::try_new_exec(&partitions, self.schema(), projection.cloned())?;
        Ok(scan)
    }
}

fn to_rows(found: &[GraphCoverage], schema: SchemaRef) -> Result<RecordBatch> {
    let numbers = |number: fn(&GraphCoverage) -> Option<i64>| -> ArrayRef {
        Arc::new(found.iter().map(number).collect::<Int64Array>())
    };
    let texts = |text: fn(&GraphCoverage) -> Option<&str>| -> ArrayRef {
        Arc::new(found.iter().map(text).collect::<StringArray>())
    };
    let columns = vec![
        numbers(|row| Some(row.graph_id)),
        texts(|row| Some(&row.platform)),
        texts(|row| Some(row.verdict.name())),
        texts(|row| row.reason.as_deref()),
        numbers(|row| Some(row.configs)),
        numbers(|row| Some(row.timed)),
        numbers(|row| row.outside),
        numbers(|row| row.valid_count),
        numbers(|row| row.cartesian_count),
        numbers(|row| row.space_source_id),
    ];
    Ok(RecordBatch::try_new(schema, columns)?)
}

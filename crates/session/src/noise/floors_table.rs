//! `noise_floors()`, `noise_floors('k80')`: noise floors of the platforms of a store, as a table.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use tsql_dialect::referenced_tables::NOISE_FLOORS;
use tsql_verdicts::floor_classes::ClassFloor;

use super::repeated_records::{FloorSelection, RepeatedRecords, read_repeated_records};

/// Registers the table function.
pub(crate) fn register(context: &SessionContext) {
    context.register_udtf(NOISE_FLOORS, Arc::new(NoiseFloors));
}

/// The table function. Arguments are platforms; without arguments all platforms are shown.
#[derive(Debug)]
struct NoiseFloors;

impl TableFunctionImpl for NoiseFloors {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let platforms = args.exprs().iter().map(|argument| match argument {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Ok(text.clone()),
            other => plan_err!(
                "`{other}` is no argument of {NOISE_FLOORS}, expected the name of a platform\n\
                 hint: {NOISE_FLOORS}('k80'), or {NOISE_FLOORS}() for all platforms"
            ),
        });
        let platforms = platforms.collect::<Result<Vec<String>>>()?;
        Ok(Arc::new(FloorsTable {
            platforms: (!platforms.is_empty()).then_some(platforms),
        }))
    }
}

/// Floors of some or all platforms, computed by each scan.
#[derive(Debug)]
struct FloorsTable {
    platforms: Option<Vec<String>>,
}

#[async_trait]
impl TableProvider for FloorsTable {
    fn schema(&self) -> SchemaRef {
        let field = |name: &str, kind| Field::new(name, kind, true);
        let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        Arc::new(Schema::new(vec![
            Field::new("platform", DataType::Utf8, false),
            field("duration_from_ns", DataType::Float64),
            field("duration_to_ns", DataType::Float64),
            Field::new("pairs", DataType::Int64, false),
            Field::new("sigma", DataType::Float64, false),
            Field::new("degrees_of_freedom", DataType::Float64, false),
            Field::new("day_pairs", DataType::Int64, false),
            field("day_sigma", DataType::Float64),
            field("newest_pair_at", time),
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
        let selection = FloorSelection {
            platforms: self.platforms.as_deref(),
            sides: ["false", "false"],
            predicate: "true",
        };
        let found = read_repeated_records(&context, &selection).await;
        let found = found.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let rows = to_rows(&found, self.schema())?;
        let partitions = [vec![rows]];
        let scan =
            MemorySourceConfig::try_new_exec(&partitions, self.schema(), projection.cloned())?;
        Ok(scan)
    }
}

/// Returns a row for each class with enough pairs.
fn to_rows(found: &RepeatedRecords, schema: SchemaRef) -> Result<RecordBatch> {
    let floors = found.pairs.fit();
    let floors = floors.as_slice();
    let numbers = |number: fn(&ClassFloor) -> Option<f64>| -> ArrayRef {
        Arc::new(floors.iter().map(number).collect::<Float64Array>())
    };
    let counts = |count: fn(&ClassFloor) -> usize| -> ArrayRef {
        let counts = floors.iter().map(|floor| i64::try_from(count(floor)).ok());
        Arc::new(counts.collect::<Int64Array>())
    };
    let platforms = floors.iter().map(|floor| floor.class.platform.as_str());
    let times = floors
        .iter()
        .map(|floor| found.newest_on(&floor.class.platform));
    let times = times.collect::<TimestampMicrosecondArray>();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(platforms)),
        numbers(|floor| floor.class.durations_ns().map(|(from, _)| from)),
        numbers(|floor| floor.class.durations_ns().map(|(_, to)| to)),
        counts(|floor| floor.floor.pairs),
        numbers(|floor| Some(floor.floor.sigma)),
        numbers(|floor| Some(floor.floor.nu)),
        counts(|floor| floor.day_pairs),
        numbers(|floor| floor.day_sigma),
        Arc::new(times.with_timezone("UTC")),
    ];
    Ok(RecordBatch::try_new(schema, columns)?)
}

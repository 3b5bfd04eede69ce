//! `date_trunc('day', measured_at)`: DataFusion's function, with UTC times cast to times without a time zone. The
//! result is the same without a calendar computation per row.

use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::functions::datetime::date_trunc::DateTruncFunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};

pub(super) fn udf() -> ScalarUDF {
    ScalarUDF::from(UtcDateTrunc(DateTruncFunc::new()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UtcDateTrunc(DateTruncFunc);

impl ScalarUDFImpl for UtcDateTrunc {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(ColumnarValue::Array(times)) = args.args.get_mut(1) else {
            return self.0.invoke_with_args(args);
        };
        let given = times.data_type().clone();
        let DataType::Timestamp(unit, Some(zone)) = &given else {
            return self.0.invoke_with_args(args);
        };
        if !matches!(zone.as_ref(), "UTC" | "+00:00") {
            return self.0.invoke_with_args(args);
        }
        *times = cast(times, &DataType::Timestamp(*unit, None))?;
        let rows = args.number_rows;
        let begun = self.0.invoke_with_args(args)?.into_array(rows)?;
        Ok(ColumnarValue::Array(cast(&begun, &given)?))
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(input)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    async fn collect(
        context: &SessionContext,
        sql: &str,
    ) -> Result<Vec<arrow::array::RecordBatch>> {
        context.sql(sql).await?.collect().await
    }

    /// Covers all units and precisions, before and after 1970.
    #[tokio::test]
    async fn times_begin_as_those_of_datafusion_do() {
        let sessions = [SessionContext::new(), SessionContext::new()];
        let [theirs, ours] = &sessions;
        ours.register_udf(udf());
        let told = async |session: &SessionContext, sql: &str| {
            let rows = collect(session, sql).await.unwrap();
            arrow::util::pretty::pretty_format_batches(&rows)
                .unwrap()
                .to_string()
        };
        for unit in ["Second", "Millisecond", "Microsecond", "Nanosecond"] {
            for zone in [
                "Some(\"UTC\")",
                "Some(\"+00:00\")",
                "Some(\"Europe/Berlin\")",
                "None",
            ] {
                for precision in [
                    "second", "minute", "HOUR", "day", "week", "month", "quarter", "year",
                ] {
                    let sql = format!(
                        "SELECT date_trunc('{precision}', arrow_cast(CASE WHEN x % 7 > 0 THEN to_timestamp_seconds(x * 7654321 - 400000000) END,
                         'Timestamp({unit}, {zone})')) AS t FROM (SELECT unnest(range(0, 120)) AS x)"
                    );
                    assert_eq!(told(ours, &sql).await, told(theirs, &sql).await, "{sql}");
                }
            }
        }
        let none = "SELECT date_trunc('day', NULL), date_trunc('day', TIMESTAMP '2020-01-02 03:04:05'), date_trunc('day', DATE '2020-01-02')";
        assert_eq!(told(ours, none).await, told(theirs, none).await);
    }
}

//! Charts of a result.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use serde::Deserialize;
use tsql_error::{Error, Result};

use super::results::QueryResult;
use crate::plot::{Chart, PlotSpec, column_indices, draw_stream};

/// Options of a chart, as in `tsql plot`; `spec` has the syntax of a `-- plot:` line and a lower precedence.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChartRequest {
    kind: Option<String>,
    x: Option<String>,
    y: Option<String>,
    by: Option<String>,
    facet: Option<String>,
    log: Option<String>,
    spec: Option<String>,
}

impl ChartRequest {
    fn spec(self) -> Result<PlotSpec> {
        let refused = |reason: String| Error::Argument {
            name: "plot",
            reason,
        };
        let headers = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (kind, log) = (headers(self.kind), headers(self.log));
        let own = PlotSpec {
            kind: kind.map(|kind| kind.parse()).transpose().map_err(refused)?,
            log: log.map(|log| log.parse()).transpose().map_err(refused)?,
            x: headers(self.x),
            y: headers(self.y),
            by: headers(self.by),
            facet: headers(self.facet),
            ..PlotSpec::default()
        };
        let below: PlotSpec = self.spec.unwrap_or_default().parse().map_err(refused)?;
        Ok(own.or(&below))
    }
}

/// Draws the rows written so far; reads only the columns of the chart.
pub(super) async fn draw_chart(result: &QueryResult, drawn: ChartRequest) -> Result<Chart> {
    let spec = drawn.spec()?;
    let stored = Arc::clone(&result.rows);
    let columns = column_indices(stored.schema(), &spec)?;
    let failed = |error: arrow::error::ArrowError| Error::Query(error.into());
    let schema: Arc<Schema> = Arc::new(stored.schema().project(&columns).map_err(failed)?);
    let units = columns.iter();
    let units: Vec<_> = units
        .map(|place| result.units.get(*place).cloned().flatten())
        .collect();
    let parts = (0..stored.parts()).map(move |part| {
        let batch = stored.part(part, Some(&columns));
        batch.map_err(|error| DataFusionError::External(error.into()))
    });
    let rows = RecordBatchStreamAdapter::new(schema, futures::stream::iter(parts));
    draw_stream(Box::pin(rows), &spec, &units).await
}

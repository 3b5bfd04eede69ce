//! Pictures of an answer.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use serde::Deserialize;

use super::answers::Answer;
use crate::error::{Error, Result};
use crate::plot::{Chart, Spec, gathered, places};

/// What is drawn: as `tsql plot` says it, with `spec` as in a `-- plot:` line below what else is said.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Drawn {
    kind: Option<String>,
    x: Option<String>,
    y: Option<String>,
    by: Option<String>,
    facet: Option<String>,
    log: Option<String>,
    spec: Option<String>,
}

impl Drawn {
    fn spec(self) -> Result<Spec> {
        let refused = |reason: String| Error::Argument {
            name: "plot",
            reason,
        };
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (kind, log) = (said(self.kind), said(self.log));
        let own = Spec {
            kind: kind.map(|kind| kind.parse()).transpose().map_err(refused)?,
            log: log.map(|log| log.parse()).transpose().map_err(refused)?,
            x: said(self.x),
            y: said(self.y),
            by: said(self.by),
            facet: said(self.facet),
            ..Spec::default()
        };
        let below: Spec = self.spec.unwrap_or_default().parse().map_err(refused)?;
        Ok(own.or(&below))
    }
}

/// Draws the rows that are there so far, reading only the columns that are drawn.
pub(super) async fn drawn(answer: &Answer, drawn: Drawn) -> Result<Chart> {
    let spec = drawn.spec()?;
    let kept = Arc::clone(&answer.rows);
    let columns = places(kept.schema(), &spec)?;
    let failed = |error: arrow::error::ArrowError| Error::Query(error.into());
    let schema: Arc<Schema> = Arc::new(kept.schema().project(&columns).map_err(failed)?);
    let units = columns.iter();
    let units: Vec<_> = units
        .map(|place| answer.units.get(*place).cloned().flatten())
        .collect();
    let parts = (0..kept.parts()).map(move |part| {
        let batch = kept.part(part, Some(&columns));
        batch.map_err(|error| DataFusionError::External(error.into()))
    });
    let rows = RecordBatchStreamAdapter::new(schema, futures::stream::iter(parts));
    gathered(Box::pin(rows), &spec, &units).await
}

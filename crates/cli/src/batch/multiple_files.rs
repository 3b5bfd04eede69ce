//! `tsql batch` of several files or a collection: a stream of batches, each from another file.

use std::time::Instant;

use arrow::datatypes::Schema;
use tsql_error::Result;
use tsql_ml::tpugraphs;
use tsql_ml::tpugraphs::{Form, GraphStep, GraphsOptions, StepTable};
use tsql_ml::training::Position;
use tsql_store::Store;

use super::writer::BatchWriter;
use crate::outcome::{DONE, Failure};
use crate::stderr::{count_noun, print_message};

/// Request for batches of several files.
pub(super) struct Several<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) options: GraphsOptions,
    pub(super) form: Form,
    pub(super) epochs: Option<u64>,
    pub(super) steps: Option<u64>,
}

/// Writes the batches to the writer that `open` returns for their schema.
pub(super) async fn run(
    store: &Store,
    wanted: &Several<'_>,
    open: impl FnOnce(&Schema) -> Result<BatchWriter, Failure>,
) -> Result<u8, Failure> {
    let started = Instant::now();
    let graphs = tpugraphs::training_graphs(store, &wanted.names, &wanted.options).await?;
    let epochs = wanted.epochs.unwrap_or(1);
    let steps = epochs.saturating_mul(graphs.step_count());
    let steps = wanted.steps.unwrap_or(steps);
    let all = graphs.epochs(Position::default())?;
    let all = all.take(usize::try_from(steps).unwrap_or(usize::MAX));
    write(all, wanted.form, open)?;
    print_message(&format!(
        "{}, {} in {:.1} s",
        count_noun(graphs.files().len() as u64, "file"),
        count_noun(steps, "step"),
        started.elapsed().as_secs_f64(),
    ));
    Ok(DONE)
}

/// Writes the batches. The first one determines the columns, which differ between layouts and tiles.
fn write(
    mut steps: impl Iterator<Item = Result<GraphStep>>,
    form: Form,
    open: impl FnOnce(&Schema) -> Result<BatchWriter, Failure>,
) -> Result<(), Failure> {
    let first = steps.next().transpose()?;
    let is_layout = first.as_ref().is_none_or(|first| first.is_layout);
    let table = StepTable::new(is_layout, form)?;
    let mut writer = open(table.schema())?;
    for step in first.into_iter().map(Ok).chain(steps) {
        writer.write(&table.batch(step?)?)?;
    }
    writer.finish()
}

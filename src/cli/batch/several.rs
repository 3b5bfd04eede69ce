//! `tsql batch` of several files, or a collection: one stream of steps, each another file.

use std::time::Instant;

use super::{Batch, Container, failed};
use crate::cli::outcome::{DONE, Failure};
use crate::cli::talk::{counted, talk};
use crate::error::Result;
use crate::store::Store;
use crate::tpugraphs::{self, GraphStep, GraphsOptions, StepTable};
use crate::training::Position;

pub(super) async fn run(store: &Store, command: &Batch) -> Result<u8, Failure> {
    if command.container() == Container::Npz {
        let reason = "an npz file holds one step of one file: take arrow for several".to_owned();
        return Err(Failure::Usage(reason));
    }
    let started = Instant::now();
    let mut options = GraphsOptions::new(command.picking()).form(command.form());
    if let Some(split) = &command.split {
        options = options.split(split);
    }
    let names: Vec<&str> = command.files.iter().map(String::as_str).collect();
    let graphs = tpugraphs::training_graphs(store, &names, &options).await?;
    let epochs = command.epochs.unwrap_or(1);
    let steps = epochs.saturating_mul(graphs.step_count());
    let steps = command.steps.unwrap_or(steps);
    let all = graphs.epochs(Position::default())?;
    write(
        command,
        all.take(usize::try_from(steps).unwrap_or(usize::MAX)),
    )?;
    talk(&format!(
        "{}, {} in {:.1} s",
        counted(graphs.files().len() as u64, "file"),
        counted(steps, "step"),
        started.elapsed().as_secs_f64(),
    ));
    Ok(DONE)
}

/// Columns follow from the first step: of layouts or of tiles.
fn write(
    command: &Batch,
    mut steps: impl Iterator<Item = Result<GraphStep>>,
) -> Result<(), Failure> {
    let first = steps.next().transpose()?;
    let is_layout = first.as_ref().is_none_or(|first| first.is_layout);
    let table = StepTable::new(is_layout, command.form())?;
    let mut writer = command.writer(table.schema())?;
    for step in first.into_iter().map(Ok).chain(steps) {
        writer.write(&table.batch(step?)?).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    Ok(())
}

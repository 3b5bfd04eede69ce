//! Reads the companion file of a log.

use std::io::BufReader;

use crate::byte_counter::ByteCounter;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::log_context::CompanionGraphs;
use crate::registry::Dialect;

/// Returns the graphs of a companion file of logs of `dialect`, or `None` if the file is of another kind.
///
/// # Errors
/// Returns an error if the file cannot be opened or read.
pub fn read_companion_graphs(dialect: Dialect, input: &Input) -> Result<Option<CompanionGraphs>> {
    let (stream, _) = input.stream(&ByteCounter::default())?;
    let names = dialect.read_graph_names(&mut BufReader::new(stream));
    let names = names.map_err(Error::io(&input.file))?;
    let file = input.name.rsplit('/').next().unwrap_or_default().to_owned();
    let has_names = names.iter().any(Option::is_some);
    Ok(has_names.then_some(CompanionGraphs { file, names }))
}

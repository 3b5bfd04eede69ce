//! The file beside a log, read.

use std::io::BufReader;

use crate::beside::Graphs;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::listed::Dialect;
use crate::passed::Passed;

/// The graphs of a file that logs of a dialect refer to; `None` where it is another.
///
/// # Errors
/// What fails to be opened or read.
pub fn graphs(dialect: Dialect, input: &Input) -> Result<Option<Graphs>> {
    let (stream, _) = input.stream(&Passed::default())?;
    let names = dialect.graphs(&mut BufReader::new(stream));
    let names = names.map_err(Error::io(&input.file))?;
    let file = input.name.rsplit('/').next().unwrap_or_default().to_owned();
    let is_one = names.iter().any(Option::is_some);
    Ok(is_one.then_some(Graphs { file, names }))
}

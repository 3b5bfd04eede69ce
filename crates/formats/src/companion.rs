//! The file beside a log, read.

use std::io::BufReader;
use std::path::Path;

use crate::beside::Graphs;
use crate::error::{Error, Result};
use crate::listed::Dialect;
use crate::naming;
use crate::opened::open;

/// The graphs of a file that logs of a dialect refer to; `None` where it is another.
///
/// # Errors
/// What fails to be opened or read.
pub fn graphs(dialect: Dialect, path: &Path) -> Result<Option<Graphs>> {
    let (stream, _) = open(path)?;
    let names = dialect.graphs(&mut BufReader::new(stream));
    let names = names.map_err(Error::io(path))?;
    let file = path.file_name().map(naming::readable).unwrap_or_default();
    let is_one = names.iter().any(Option::is_some);
    Ok(is_one.then_some(Graphs { file, names }))
}

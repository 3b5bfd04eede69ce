//! The terminal that shows an answer: its size.

use std::io::IsTerminal as _;

use terminal_size::{Height, Width, terminal_size_of};

/// Variable with the width, where it is not the terminal's.
const COLUMNS: &str = "COLUMNS";

/// Columns of what shows standard output; `None` where nothing does and nobody says.
pub(super) fn columns() -> Option<usize> {
    columns_variable().or_else(|| {
        let (Width(columns), _) = size()?;
        (columns > 0).then_some(usize::from(columns))
    })
}

/// The width that the environment says.
pub(super) fn columns_variable() -> Option<usize> {
    let columns = std::env::var(COLUMNS).ok()?.parse().ok()?;
    (columns > 0).then_some(columns)
}

/// Lines of the terminal, if standard output is one.
pub(super) fn lines() -> Option<usize> {
    let (_, Height(lines)) = size()?;
    (lines > 0).then_some(usize::from(lines))
}

fn size() -> Option<(Width, Height)> {
    let out = std::io::stdout();
    out.is_terminal().then(|| terminal_size_of(out)).flatten()
}

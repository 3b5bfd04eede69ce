//! Size of the terminal that shows a result.

use std::io::IsTerminal as _;

use terminal_size::{Height, Width, terminal_size_of};

/// Variable that overrides the width of the terminal.
const COLUMNS: &str = "COLUMNS";

/// Returns the width of standard output in columns; `None` without a terminal and without [`COLUMNS`].
pub(super) fn columns() -> Option<usize> {
    columns_variable().or_else(|| {
        let (Width(columns), _) = size()?;
        (columns > 0).then_some(usize::from(columns))
    })
}

/// Returns the width in [`COLUMNS`].
pub(super) fn columns_variable() -> Option<usize> {
    let columns = std::env::var(COLUMNS).ok()?.parse().ok()?;
    (columns > 0).then_some(columns)
}

/// Returns the number of lines of the terminal, if standard output is one.
pub(super) fn lines() -> Option<usize> {
    let (_, Height(lines)) = size()?;
    (lines > 0).then_some(usize::from(lines))
}

fn size() -> Option<(Width, Height)> {
    let out = std::io::stdout();
    out.is_terminal().then(|| terminal_size_of(out)).flatten()
}

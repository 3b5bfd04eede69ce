//! Layout of results for people. Formats for programs ignore it.

/// Layout of a result for people. The default is the layout for a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Maximum width of a table in terminal columns; with `None`, only single values are shortened.
    pub(crate) width: Option<usize>,
    /// Maximum number of shown rows of a table, first and last ones; all with `None`.
    pub(crate) max_rows: Option<usize>,
    /// Print times and sizes in readable units: `13.67 ms` for 13671200 in a column of nanoseconds.
    pub(crate) units: bool,
    /// Wrap long text within its cell, instead of cutting it with `…`.
    pub(crate) wraps: bool,
}

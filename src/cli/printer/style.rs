//! What is known of whoever reads an answer: the room on the screen, and what reads better there.
//!
//! Formats for machines look at none of it.

/// How an answer for people is laid out. The default is that of a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Terminal columns that a table may take; without it only single values are shortened.
    pub(crate) width: Option<usize>,
    /// Rows of a table that are shown, of the first and the last; all without it.
    pub(crate) max_rows: Option<usize>,
    /// Times and sizes in a unit that reads well: `13.67 ms` for 13671200 in a column of nanoseconds.
    pub(crate) units: bool,
    /// Long text goes on in the next line of its cell, instead of ending in `…`.
    pub(crate) wraps: bool,
}

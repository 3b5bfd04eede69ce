//! Self-contained HTML pages of plots and tables: style, script and data are inline, and nothing is loaded.

mod document;

pub use document::{Figure, HtmlDocument, HtmlTable, PLOT_SCRIPT, Section, theme_css};

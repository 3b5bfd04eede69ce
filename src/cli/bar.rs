//! How far long work is, for whoever looks at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar moves while nothing is told.
const TICK: Duration = Duration::from_millis(200);

/// A bar for work whose end is known, in this style.
pub(super) fn bar(style: &str) -> ProgressBar {
    styled(ProgressBar::new(0), style)
}

/// One for work whose end is not.
pub(super) fn spinner(style: &str) -> ProgressBar {
    styled(ProgressBar::new_spinner(), style)
}

fn styled(bar: ProgressBar, style: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Moves a bar of rows: a table, its rows so far, its rows in all.
pub(super) fn told(bar: ProgressBar) -> impl Fn(&str, u64, u64) + Send + Sync + 'static {
    move |table, rows, of_rows| {
        bar.set_length(of_rows);
        bar.set_position(rows);
        bar.set_message(table.to_owned());
    }
}

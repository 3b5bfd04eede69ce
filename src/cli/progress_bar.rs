//! How far long work is, for whoever looks at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar moves while nothing is told.
const TICK: Duration = Duration::from_millis(200);

/// A bar for work whose end is known, in this style.
pub(super) fn bar(style: &str) -> ProgressBar {
    with_style(ProgressBar::new(0), style)
}

/// One for work whose end is not.
pub(super) fn spinner(style: &str) -> ProgressBar {
    with_style(ProgressBar::new_spinner(), style)
}

fn with_style(bar: ProgressBar, style: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Moves a bar of a table: its rows or bytes so far, and in all.
pub(super) fn by_table(bar: ProgressBar) -> impl Fn(&str, u64, u64) + Send + Sync + 'static {
    move |table, done, of| {
        bar.set_length(of);
        bar.set_position(done);
        bar.set_message(table.to_owned());
    }
}

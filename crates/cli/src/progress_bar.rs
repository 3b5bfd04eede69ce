//! Progress bars of long work on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Time between redraws of a bar without updates.
const TICK: Duration = Duration::from_millis(200);

/// Returns a bar for work of known size, with this template.
pub(super) fn bar(style: &str) -> ProgressBar {
    with_style(ProgressBar::new(0), style)
}

/// Returns a spinner for work of unknown size, with this template.
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

/// Returns a function that updates a bar with the name of a table, its completed rows or bytes, and their total.
pub(super) fn by_table(bar: ProgressBar) -> impl Fn(&str, u64, u64) + Send + Sync + 'static {
    move |table, position, length| {
        bar.set_length(length);
        bar.set_position(position);
        bar.set_message(table.to_owned());
    }
}

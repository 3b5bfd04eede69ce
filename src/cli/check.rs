//! `tsql check`: is the store sound?

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::place::Place;
use super::{DONE, Failure, PARTLY, talk};
use crate::check::CheckOptions;

/// How often the bar moves while a table is read.
const TICK: Duration = Duration::from_millis(200);

/// Check every reference, every hash, and that every source can be given back
///
/// Says what is wrong, and what of it can be mended. Exit code 0 for a sound store, 1 with damage.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tsql check && echo sound\n  tsql check --mend")]
pub(super) struct Check {
    /// Mend what can be mended (what earlier versions have written wrong), and say what was done; then
    /// check. The old files stay until `tsql vacuum`
    #[arg(long)]
    mend: bool,
}

pub(super) async fn run(place: &Place, command: Check) -> Result<u8, Failure> {
    let store = place.open().await?;
    if command.mend {
        for done in store.mend().await? {
            talk(&format!("mended: {}: {}", done.found, done.count));
        }
    }
    let mut options = CheckOptions::default();
    options.memory_limit_bytes = place.memory_limit;
    let bar = std::io::stderr().is_terminal().then(progress_bar);
    if let Some(bar) = bar.clone() {
        options.progress = Some(Arc::new(move |what, done, of| {
            bar.set_length(of);
            bar.set_position(done);
            bar.set_message(what.to_owned());
        }));
    }
    let checked = store.check_with(&options).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let checked = checked?;
    for found in &checked.mendable {
        talk(&format!(
            "{}: {}\nhint: `tsql check --mend` {}",
            found.found, found.count, found.does
        ));
    }
    for (table, reason) in &checked.damage {
        talk(&format!("{table}: {reason}"));
    }
    if !checked.is_sound() {
        return Ok(PARTLY);
    }
    talk(&format!(
        "sound: {} references resolve, {} hashes compute again, {} sources of {} bytes can be given back",
        checked.references, checked.hashes, checked.sources, checked.source_bytes
    ));
    Ok(DONE)
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = "{spinner} {bar:30} {human_pos} of {human_len} {msg} checked, {elapsed}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

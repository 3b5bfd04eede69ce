//! `tsql ui`: a page to ask the store on.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use tsql_folders::Scratch;

use super::outcome::{DONE, Failure};
use super::page::named;
use super::place::Place;
use super::talk::talk_secrets;
use crate::error::Error;
use crate::ui::{Ui as Served, UiOptions};

/// Opens an address as the desktop does.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Serve a page to ask the store on, for this machine
///
/// Type SQL, or choose a ready-made question; answers of any length are paged, sorted and drawn, and what an ingest or a
/// measurement writes meanwhile shows by itself. The page listens on 127.0.0.1 alone and lets in who has the address that it
/// prints, which is a secret. It only reads, and no files but the store's. Questions that run have --memory-limit together; one
/// ends with its tab. Ctrl-C ends the page.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql ui\n  \
    tsql ui --sample --port 8700 --no-open\n  \
    ssh -L 8700:127.0.0.1:8700 gpu1 tsql ui --store logs/.tsql --port 8700")]
pub(super) struct Ui {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Questions may read files, too: `FROM 'x.csv'`, `FROM 'https://...'`
    #[arg(long)]
    files: bool,
    /// What the store is called there [default: the name of its folder]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(super) async fn run(place: &Place, command: Ui) -> Result<u8, Failure> {
    let store = place.open().await?;
    let options = UiOptions::default()
        .port(command.port)
        .name(named(place, &store, command.name))
        .session(place.options(None)?)
        .question_folders(place.question_folders()?)
        .files(command.files);
    let stop = super::signals::asked_to_end()?;
    let ui = Served::start(store, options).await?;
    talk_secrets(&format!("open {} (Ctrl-C ends it)", ui.url()));
    // It goes when the page does.
    let _opened = match !command.no_open && std::io::stderr().is_terminal() {
        true => opened(ui.url()),
        false => None,
    };
    ui.serve(stop).await?;
    Ok(DONE)
}

/// Opens a browser, if there is one. The address stands in a file that only this user reads: others see command lines.
fn opened(url: &str) -> Option<Scratch> {
    let folder = Scratch::new().ok()?;
    let path = folder.path().join("open.html");
    let page = format!(
        "<!DOCTYPE html><title>tsql</title><meta http-equiv=\"refresh\" content=\"0;url={url}\">"
    );
    std::fs::write(&path, page).map_err(Error::io(&path)).ok()?;
    start(&path)?;
    Some(folder)
}

fn start(path: &Path) -> Option<()> {
    let mut opener = Command::new(OPENER);
    let quiet = opener.arg(path).stdin(Stdio::null());
    let mut child = quiet
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // Nobody waits for a browser; who has ended is not left behind.
    std::thread::spawn(move || child.wait());
    Some(())
}

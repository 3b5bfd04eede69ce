//! `tsql ui`: a web interface for queries.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use tsql_error::Error;
use tsql_folders::Scratch;
use tsql_server::ui::{Ui as AppState, UiOptions};

use super::html_report::title;
use super::outcome::{DONE, Failure};
use super::stderr::print_secret_message;
use super::store_options::StoreOptions;

/// Program that opens an address in the browser of the desktop.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Serve a web interface for queries, on this machine
///
/// Runs SQL and built-in queries; results are paged, sorted and plotted, and records of a running ingest or measurement
/// appear by themselves. It listens on 127.0.0.1 only and requires the address that it prints, which is a secret. It
/// only reads, and only the store. All running queries share --memory-limit; a query ends with its tab. Ctrl-C ends the
/// server.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql ui\n  \
    tsql ui --sample --port 8700 --no-open\n  \
    ssh -L 8700:127.0.0.1:8700 gpu1 tsql ui --store logs/.tsql --port 8700")]
pub(super) struct Ui {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Allow queries to read files: `FROM 'x.csv'`, `FROM 'https://...'`
    #[arg(long = "allow-files", alias = "files")]
    files: bool,
    /// Title of the page [default: the name of the store's folder]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(super) async fn run(place: &StoreOptions, command: Ui) -> Result<u8, Failure> {
    let store = place.open().await?;
    let options = UiOptions::default()
        .port(command.port)
        .name(title(place, &store, command.name))
        .session(place.options(None)?)
        .query_folders(place.query_folders()?)
        .files(command.files);
    let stop = super::signals::termination()?;
    let ui = AppState::start(store, options).await?;
    print_secret_message(&format!("open {} (Ctrl-C stops the server)", ui.url()));
    // The file is removed when the server ends.
    let _opened = match !command.no_open && std::io::stderr().is_terminal() {
        true => open_browser(ui.url()),
        false => None,
    };
    ui.serve(stop).await?;
    Ok(DONE)
}

/// Opens a browser, if there is one. The address is in a file that only this user can read, because command lines are
/// visible to others.
fn open_browser(url: &str) -> Option<Scratch> {
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
    // The thread waits for the browser, so that no zombie process remains.
    std::thread::spawn(move || child.wait());
    Some(())
}

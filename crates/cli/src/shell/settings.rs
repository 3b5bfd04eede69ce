//! Settings of the shell, such as `.mode`, `.output` and `.timer`.

use std::io::Write as _;
use std::path::PathBuf;

use tsql_error::Error;
use tsql_folders::Scratch;

use super::super::outcome::Failure;
use super::super::output::{ALL_ROWS, Output, SCREEN_ROWS};
use super::super::printer::Format;

/// Settings of the next results.
#[derive(Debug)]
pub(super) struct Settings {
    /// Options of the command line.
    options: Output,
    /// The format of `.mode`; with `None`, the destination determines it.
    pub(super) mode: Option<Format>,
    file: Option<File>,
    once: Option<PathBuf>,
    pub(super) timer: bool,
    /// Maximum number of shown rows of a table; all with `None`.
    pub(super) max_rows: Option<usize>,
}

/// File for results.
#[derive(Debug)]
struct File {
    path: PathBuf,
    /// Set if the file already contains results; the next ones are appended.
    has_results: bool,
}

/// Destination of one result.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) output: Output,
    /// Temporary folder of the printed result, and the file to append it to.
    append_to: Option<(Scratch, PathBuf)>,
}

impl Settings {
    pub(super) fn new(options: Output, timer: bool) -> Self {
        Self {
            mode: options.format,
            file: None,
            once: None,
            timer,
            max_rows: options.max_rows.or(Some(SCREEN_ROWS)),
            options,
        }
    }

    /// Sets the file for results; `None` is the terminal.
    pub(super) fn write_to(&mut self, path: Option<PathBuf>) {
        self.once = None;
        self.file = path.map(|path| File {
            path,
            has_results: false,
        });
    }

    /// Sets the file for the next result.
    pub(super) fn write_once(&mut self, path: PathBuf) {
        self.once = Some(path);
    }

    /// Returns the format of results on the terminal.
    pub(super) fn show(&self) -> Format {
        self.output(None).resolve_format().unwrap_or(Format::Table)
    }

    /// Returns the destination of the next result.
    pub(super) fn outlet(&mut self) -> Result<Outlet, Failure> {
        if let Some(path) = self.once.take() {
            return Ok(Outlet {
                output: self.output(Some(path)),
                append_to: None,
            });
        }
        let Some(file) = &mut self.file else {
            let output = self.output(None);
            return Ok(Outlet {
                output,
                append_to: None,
            });
        };
        let path = file.path.clone();
        if !std::mem::replace(&mut file.has_results, true) {
            return Ok(Outlet {
                output: self.output(Some(path)),
                append_to: None,
            });
        }
        let scratch = Scratch::new().map_err(Error::from)?;
        let mut part = scratch.path().join("part");
        part.set_extension(path.extension().unwrap_or_default());
        let output = self.output(Some(part));
        if !output.resolve_format()?.is_text() {
            let path = path.display();
            let reason =
                format!("`{path}` contains one result\nhint: use `.once FILE` before each query");
            return Err(Failure::Usage(reason));
        }
        Ok(Outlet {
            output,
            append_to: Some((scratch, path)),
        })
    }

    /// Returns the output options of a destination. The extension of a file determines its format, or else the mode.
    fn output(&self, path: Option<PathBuf>) -> Output {
        let mut output = self.options.clone();
        output.format = None;
        output.max_rows = Some(self.max_rows.unwrap_or(ALL_ROWS));
        // Results on the terminal are for people.
        output.units |= path.is_none();
        output.output = path;
        if output.output.is_none() || output.resolve_format().is_err() {
            output.format = self.mode;
        }
        output
    }
}

impl Outlet {
    /// Appends the printed result to its file, if there is one.
    pub(super) fn close(self) -> Result<(), Error> {
        let (Some((_scratch, path)), Some(part)) = (self.append_to, self.output.output) else {
            return Ok(());
        };
        let mut from = std::fs::File::open(&part).map_err(Error::io(&part))?;
        let to = std::fs::File::options()
            .append(true)
            .create(true)
            .open(&path);
        let mut to = to.map_err(Error::io(&path))?;
        std::io::copy(&mut from, &mut to).map_err(Error::io(&path))?;
        to.flush().map_err(Error::io(&path))
    }
}

//! What `.mode`, `.output`, `.timer` and their like set.

use std::io::Write as _;
use std::path::PathBuf;

use tsql_folders::Scratch;

use super::super::outcome::Failure;
use super::super::output::{ALL_ROWS, Output, SCREEN_ROWS};
use super::super::printer::Format;
use crate::error::Error;

/// How results are shown from now on.
#[derive(Debug)]
pub(super) struct Settings {
    /// What was said on the command line.
    given: Output,
    /// The format that was set; else it follows from where a result goes.
    pub(super) mode: Option<Format>,
    file: Option<File>,
    once: Option<PathBuf>,
    pub(super) timer: bool,
    /// Rows of a table that are shown; all where there is none.
    pub(super) max_rows: Option<usize>,
}

/// Where results go.
#[derive(Debug)]
struct File {
    path: PathBuf,
    /// Results are there already; the next ones follow them.
    has_results: bool,
}

/// Where one result goes.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) output: Output,
    /// What was printed goes from there to the end of a file.
    follows: Option<(Scratch, PathBuf)>,
}

impl Settings {
    pub(super) fn new(given: Output, timer: bool) -> Self {
        Self {
            mode: given.format,
            file: None,
            once: None,
            timer,
            max_rows: given.max_rows.or(Some(SCREEN_ROWS)),
            given,
        }
    }

    /// Results go to this file, or to the terminal.
    pub(super) fn write_to(&mut self, path: Option<PathBuf>) {
        self.once = None;
        self.file = path.map(|path| File {
            path,
            has_results: false,
        });
    }

    /// The next result goes to this file.
    pub(super) fn write_once(&mut self, path: PathBuf) {
        self.once = Some(path);
    }

    /// The format of results on the terminal.
    pub(super) fn show(&self) -> Format {
        self.output(None).resolve_format().unwrap_or(Format::Table)
    }

    /// Where the next result goes.
    pub(super) fn outlet(&mut self) -> Result<Outlet, Failure> {
        if let Some(path) = self.once.take() {
            return Ok(Outlet {
                output: self.output(Some(path)),
                follows: None,
            });
        }
        let Some(file) = &mut self.file else {
            let output = self.output(None);
            return Ok(Outlet {
                output,
                follows: None,
            });
        };
        let path = file.path.clone();
        if !std::mem::replace(&mut file.has_results, true) {
            return Ok(Outlet {
                output: self.output(Some(path)),
                follows: None,
            });
        }
        let scratch = Scratch::new().map_err(Error::from)?;
        let mut part = scratch.path().join("part");
        part.set_extension(path.extension().unwrap_or_default());
        let output = self.output(Some(part));
        if !output.resolve_format()?.is_text() {
            let path = path.display();
            let reason = format!("`{path}` holds one result\nhint: `.once FILE` before each");
            return Err(Failure::Usage(reason));
        }
        Ok(Outlet {
            output,
            follows: Some((scratch, path)),
        })
    }

    /// How a result is printed there. A file's ending says its format, and the mode where it says none.
    fn output(&self, path: Option<PathBuf>) -> Output {
        let mut output = self.given.clone();
        output.format = None;
        output.max_rows = Some(self.max_rows.unwrap_or(ALL_ROWS));
        // People look at it.
        output.units |= path.is_none();
        output.output = path;
        if output.output.is_none() || output.resolve_format().is_err() {
            output.format = self.mode;
        }
        output
    }
}

impl Outlet {
    /// The result is printed: it goes where it belongs.
    pub(super) fn close(self) -> Result<(), Error> {
        let (Some((_scratch, path)), Some(part)) = (self.follows, self.output.output) else {
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

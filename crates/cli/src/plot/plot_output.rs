//! Output file and appearance of a plot.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tsql_error::Error;
use tsql_server::plot::{Appearance, Chart, Graph, PlotSize, Theme};
use tsql_store::atomic_output::{check_output, write_output};

use super::super::outcome::Failure;
use super::super::printer::PrintError;
use super::super::screen;
use super::super::stderr::has_color;

/// Columns and lines of a preview if the size of the terminal is unknown.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// Maximum number of lines of a preview.
const LINES: usize = 36;

/// Output file and appearance of a plot.
#[derive(Args, Debug)]
pub(crate) struct Drawn {
    /// File to write: FILE.svg, FILE.png or FILE.html [default: a preview on the terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Size: `column` (of a two-column article), `slide`, or WIDTHxHEIGHT in units; labels are 18 units high
    #[arg(long, value_name = "SIZE", default_value = "column", value_parser = size)]
    size: PlotSize,
    /// Colors: dark on light, or light on dark
    #[arg(long, value_enum, default_value_t = ThemeName::Light)]
    theme: ThemeName,
    /// Width of a PNG file in pixels [default: twice the units, 1280 for a column]
    #[arg(long, value_name = "PIXELS")]
    width: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ThemeName {
    Light,
    Dark,
}

fn size(text: &str) -> Result<PlotSize, String> {
    match text {
        "column" => return Ok(PlotSize::Column),
        "slide" => return Ok(PlotSize::Slide),
        _ => {}
    }
    let sides = text.split_once('x').and_then(|(width, height)| {
        let side = |text: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|one| (1..=16_384).contains(one))
        };
        side(width).zip(side(height))
    });
    let (width, height) = sides.ok_or("expected column, slide or WIDTHxHEIGHT")?;
    Ok(PlotSize::Units { width, height })
}

/// File format of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Svg,
    Png,
    Html,
}

impl Drawn {
    /// Returns the options of a plot with the default size in a file.
    pub(crate) fn of_file(path: PathBuf) -> Self {
        Self {
            output: Some(path),
            size: PlotSize::Column,
            theme: ThemeName::Light,
            width: None,
        }
    }

    /// Returns the format by the extension of the file; `None` for a preview.
    ///
    /// # Errors
    /// Fails for an unknown extension, a URL, and a file in a store.
    pub(super) fn form(&self) -> Result<Option<Form>, Failure> {
        let Some(path) = &self.output else {
            return Ok(None);
        };
        check_output(path)?;
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Some(Form::Svg)),
            Some("png") => Ok(Some(Form::Png)),
            Some("html" | "htm") => Ok(Some(Form::Html)),
            _ => Err(Failure::Usage(format!(
                "`{}` has no known extension\nhint: FILE.svg, FILE.png or FILE.html",
                path.display()
            ))),
        }
    }

    pub(super) fn look(&self) -> Appearance {
        Appearance {
            theme: match self.theme {
                ThemeName::Light => Theme::Light,
                ThemeName::Dark => Theme::Dark,
            },
            size: self.size,
        }
    }

    pub(super) fn png_width(&self) -> u32 {
        self.width.unwrap_or_else(|| {
            2 * match self.size {
                PlotSize::Column => 640,
                PlotSize::Slide => 1280,
                PlotSize::Units { width, .. } => width.clamp(240, 8_192),
            }
        })
    }

    /// Writes the plot to its file, or prints a preview.
    ///
    /// # Errors
    /// [`Error::Drawing`], and failures of the file.
    pub(super) fn show(&self, chart: &Chart, sql: &str) -> Result<(), Failure> {
        let look = self.look();
        let bytes = match self.form()? {
            None => return preview(chart),
            Some(Form::Svg) => chart.svg(look).into_bytes(),
            Some(Form::Png) => chart.png(look, self.png_width()).map_err(Error::Drawing)?,
            Some(Form::Html) => tsql_server::plot::html_document(chart, look, sql).into_bytes(),
        };
        self.write(&bytes)
    }

    /// Writes a graph.
    ///
    /// # Errors
    /// Fails as [`Drawn::show`], and without a file, because text cannot show a graph.
    pub(super) fn show_graph(&self, graph: &Graph) -> Result<(), Failure> {
        let theme = self.look().theme;
        let bytes = match self.form()? {
            None => {
                let reason = "a plot of a graph needs a file\nhint: -o graph.svg, .png or .html";
                return Err(Failure::Usage(reason.to_owned()));
            }
            Some(Form::Svg) => graph.svg(theme).into_bytes(),
            Some(Form::Png) => graph.png(theme, self.width).map_err(Error::Drawing)?,
            Some(Form::Html) => tsql_server::plot::html_graph_document(graph).into_bytes(),
        };
        self.write(&bytes)
    }

    /// Writes a plot to its file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match &self.output {
            Some(path) => write(path, bytes),
            None => Ok(()),
        }
    }
}

/// Writes a file atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(write_output(path, bytes)?)
}

/// Prints the plot as text.
fn preview(chart: &Chart) -> Result<(), Failure> {
    let columns = screen::columns().unwrap_or(DEFAULT_SIZE.0);
    let lines = screen::lines()
        .map_or(DEFAULT_SIZE.1, |lines| lines.saturating_sub(2))
        .min(LINES);
    let text = chart.text(columns, lines, has_color());
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(written.map_err(PrintError::Io)?)
}

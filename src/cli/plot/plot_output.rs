//! Where a picture goes, and how it looks there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::super::outcome::Failure;
use super::super::printer::PrintError;
use super::super::screen;
use super::super::stderr::has_color;
use crate::error::Error;
use crate::plot::{Appearance, Chart, Graph, PlotSize, Theme};

/// Columns and lines of a preview where nobody says how large the terminal is.
const USUAL: (usize, usize) = (80, 24);

/// Most lines of a preview.
const LINES: usize = 36;

/// Where a picture goes and how it looks.
#[derive(Args, Debug)]
pub(in crate::cli) struct Drawn {
    /// File to write: FILE.svg, FILE.png or FILE.html [default: a preview on the terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Size: `column` (of a two-column article), `slide`, or WIDTHxHEIGHT in units; labels are 18 units high
    #[arg(long, value_name = "SIZE", default_value = "column", value_parser = size)]
    size: PlotSize,
    /// Colors: dark on light, or light on dark
    #[arg(long, value_enum, default_value_t = Paper::Light)]
    theme: Paper,
    /// Width of a PNG file in pixels [default: twice the units, 1280 for a column]
    #[arg(long, value_name = "PIXELS")]
    width: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Paper {
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
        let of = |text: &str| {
            text.parse::<u32>()
                .ok()
                .filter(|one| (1..=16_384).contains(one))
        };
        of(width).zip(of(height))
    });
    let (width, height) = sides.ok_or("expected column, slide or WIDTHxHEIGHT")?;
    Ok(PlotSize::Units { width, height })
}

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Svg,
    Png,
    Html,
}

impl Drawn {
    /// A picture of the usual size in a file.
    pub(in crate::cli) fn of_file(path: PathBuf) -> Self {
        Self {
            output: Some(path),
            size: PlotSize::Column,
            theme: Paper::Light,
            width: None,
        }
    }

    /// What is written, by the name of the file; `None` for a preview.
    ///
    /// # Errors
    /// For a name that says none.
    pub(super) fn form(&self) -> Result<Option<Form>, Failure> {
        let Some(path) = &self.output else {
            return Ok(None);
        };
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
                Paper::Light => Theme::Light,
                Paper::Dark => Theme::Dark,
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

    /// Writes the picture, or shows it.
    ///
    /// # Errors
    /// [`Error::Drawing`], and failures of the file.
    pub(super) fn show(&self, chart: &Chart, sql: &str) -> Result<(), Failure> {
        let look = self.look();
        let drawn = match self.form()? {
            None => return preview(chart),
            Some(Form::Svg) => chart.svg(look).into_bytes(),
            Some(Form::Png) => chart.png(look, self.png_width()).map_err(Error::Drawing)?,
            Some(Form::Html) => crate::plot::html_document(chart, look, sql).into_bytes(),
        };
        self.write(&drawn)
    }

    /// Writes a graph.
    ///
    /// # Errors
    /// As [`Drawn::show`]; without a file, since letters do not show a graph.
    pub(super) fn show_graph(&self, graph: &Graph) -> Result<(), Failure> {
        let theme = self.look().theme;
        let drawn = match self.form()? {
            None => {
                let reason = "a graph is drawn into a file\nhint: -o graph.svg, .png or .html";
                return Err(Failure::Usage(reason.to_owned()));
            }
            Some(Form::Svg) => graph.svg(theme).into_bytes(),
            Some(Form::Png) => graph.png(theme, self.width).map_err(Error::Drawing)?,
            Some(Form::Html) => crate::plot::html_graph_document(graph).into_bytes(),
        };
        self.write(&drawn)
    }

    /// Writes a picture into its file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn write(&self, drawn: &[u8]) -> Result<(), Failure> {
        match &self.output {
            Some(path) => write(path, drawn),
            None => Ok(()),
        }
    }
}

/// Writes a file, all of it or nothing.
pub(in crate::cli) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(tsql_folders::write_file(path, bytes).map_err(Error::from)?)
}

/// The picture in letters.
fn preview(chart: &Chart) -> Result<(), Failure> {
    let columns = screen::columns().unwrap_or(USUAL.0);
    let lines = screen::lines()
        .map_or(USUAL.1, |lines| lines.saturating_sub(2))
        .min(LINES);
    let text = chart.text(columns, lines, has_color());
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(written.map_err(PrintError::Io)?)
}

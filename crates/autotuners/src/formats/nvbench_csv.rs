//! nvbench, CSV. Columns between `Device Name` and `Skipped` are axes of the first benchmark; axes of later benchmarks are
//! behind the results. There, a cell that is no number is an axis value. The name `Noise` occurs twice.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{Metric, Origin, Sourced};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::{Number, Value};

use super::nvbench::skip;
use super::rows::{Cells, TableFormat, number, trial};

/// Reads such a table.
#[derive(Default)]
pub(super) struct Table {
    axes: std::ops::Range<usize>,
    time: usize,
    skipped: usize,
}

pub(super) fn document() -> Document {
    Document::new(Format::NvbenchCsv, Coverage::AllTrials)
}

impl TableFormat for Table {
    fn header(&mut self, header: &[String], _output: &mut Output) -> Result<(), String> {
        let find = |wanted: &str| {
            let found = header.iter().position(|name| name == wanted);
            found.ok_or_else(|| format!("no column `{wanted}`"))
        };
        self.skipped = find("Skipped")?;
        self.axes = find("Device Name")? + 1..self.skipped;
        self.time = find("GPU Time (sec)")?;
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let mut trial = trial(row);
        let mut metric = "";
        for (at, (name, cell)) in cells.iter().enumerate() {
            if at == self.time {
                metric = name;
                if !cell.is_empty() {
                    trial.time = Time::new(number(name, cell)?, TimeUnit::Seconds);
                }
            } else if self.axes.contains(&at)
                || (at > self.skipped && Number::parse(cell).is_none())
            {
                if !cell.is_empty() {
                    trial
                        .configuration
                        .push((name.to_owned(), Value::text(cell)));
                    trial.graph.parameters.push(name.to_owned());
                }
            } else if name == "Benchmark" || name == "Device Name" {
                let sourced = Sourced {
                    name: cell.to_owned(),
                    origin: Origin::File,
                };
                if name == "Benchmark" {
                    trial.graph.kernel = Some(sourced);
                } else {
                    trial.platform = Some(sourced);
                }
            } else if at > self.skipped && !cell.is_empty() {
                // `Noise` belongs to the column before it.
                let unit = if name.ends_with("(sec)") { "s" } else { "" };
                let (name, unit) = if name == "Noise" {
                    (format!("{metric} Noise"), "1")
                } else {
                    metric = name;
                    (name.to_owned(), unit)
                };
                trial.push_metric(Metric::new(name.clone(), unit, &number(&name, cell)?));
            }
        }
        match cells.get("Skipped") {
            Some("No") if trial.time.is_some() => {}
            Some("No") => trial.unmeasured("no GPU time"),
            Some("Yes") => skip(&mut trial, "skipped"),
            _ => return Err("`Skipped` is neither `Yes` nor `No`".to_owned()),
        }
        output.trial(trial);
        Ok(())
    }
}

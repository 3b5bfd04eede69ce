//! Older results of the Kernel Tuning Toolkit (CSV): kernel, duration, sizes, parameters, counters.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{Metric, Origin, Sourced};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::Value;

use super::rows::{Cells, TableFormat, number, trial};

/// Reads such a table.
#[derive(Default)]
pub(super) struct Results {
    duration: String,
    unit: Option<TimeUnit>,
    parameters: Vec<String>,
}

pub(super) fn document() -> Document {
    Document::new(Format::KttCsv, Coverage::AllTrials)
}

/// Columns of the compilation behind the counters.
const SIZES: [&str; 5] = [
    "Maximum work-group size",
    "Local memory size",
    "Private memory size",
    "Constant memory size",
    "Registers count",
];

impl TableFormat for Results {
    fn header(&mut self, header: &[String], _output: &mut Output) -> Result<(), String> {
        let duration = header.iter().find(|name| name.contains("duration ("));
        let duration = duration.ok_or("no column of the duration")?;
        let unit = duration
            .split_once('(')
            .and_then(|(_, unit)| unit.strip_suffix(')'));
        self.unit = TimeUnit::parse(unit.unwrap_or_default());
        self.duration.clone_from(duration);
        let sizes = header.iter().position(|name| name == "Local size");
        let first = sizes.ok_or("no column `Local size`")? + 1;
        // The first counter ends the parameters.
        let is_counter = |name: &&String| {
            name.contains("__") || name.contains('.') || SIZES.contains(&name.as_str())
        };
        let rest = header.get(first..).unwrap_or_default().iter();
        self.parameters = rest.take_while(|name| !is_counter(name)).cloned().collect();
        self.unit
            .map(|_| ())
            .ok_or_else(|| format!("unknown unit of `{duration}`"))
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let unit = self.unit.ok_or("no unit of time")?;
        let mut trial = trial(row);
        for (name, cell) in cells.iter() {
            if cell.is_empty() {
                continue;
            }
            if name == "Kernel name" {
                trial.graph.kernel = Some(Sourced {
                    name: cell.to_owned(),
                    origin: Origin::File,
                });
            } else if name == self.duration {
                let time = Time::new(number(name, cell)?, unit);
                trial.time = Some(time.ok_or_else(|| format!("`{cell}` is no time"))?);
            } else if self.parameters.iter().any(|parameter| parameter == name) {
                trial
                    .configuration
                    .push((name.to_owned(), Value::from_cell(cell)));
            } else if name == "Global size" || name == "Local size" {
                trial
                    .attributes
                    .push((name.to_owned(), Value::from_cell(cell)));
            } else {
                let unit = if name.ends_with("memory size") {
                    "B"
                } else {
                    ""
                };
                trial.push_metric(Metric::new(name.to_owned(), unit, &number(name, cell)?));
            }
        }
        trial.graph.parameters.clone_from(&self.parameters);
        if trial.time.is_none() {
            return Err("a row without its duration".to_owned());
        }
        output.trial(trial);
        Ok(())
    }
}

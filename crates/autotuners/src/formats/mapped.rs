//! Tables whose columns a mapping explains.

use crate::document::{Coverage, Document};
use crate::error::Error;
use crate::format::Format;
use crate::mapping::{ColumnRole, Mapping};
use crate::model::{FailureKind, Metric, Origin, Sourced};
use crate::output::{FormatReader, Output};
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::{Number, Value};

use super::rows::{Cells, TableFormat, trial};

/// Reads such a table.
pub(super) struct Table {
    mapping: Mapping,
}

/// Fails, because no mapping was given.
pub(super) struct NoMapping;

pub(super) fn document() -> Document {
    Document::new(Format::Table, Coverage::AllTrials)
}

impl FormatReader for NoMapping {
    fn step(&mut self, _output: &mut Output) -> Result<bool, Error> {
        Err(Error::Mapping(
            "a table needs a mapping of its columns".to_owned(),
        ))
    }
}

impl Table {
    pub(super) fn new(mapping: Mapping) -> Self {
        Self { mapping }
    }

    fn number(&self, name: &str, cell: &str) -> Result<Number, String> {
        let plain = match self.mapping.thousands.as_deref() {
            Some(separator) if !separator.is_empty() => cell.replace(separator, ""),
            _ => cell.to_owned(),
        };
        Number::parse(&plain).ok_or_else(|| format!("`{cell}` in `{name}` is not a number"))
    }
}

impl TableFormat for Table {
    fn preamble(&mut self, line: &str, output: &mut Output) -> bool {
        let prefix = self
            .mapping
            .comment_prefix
            .as_deref()
            .filter(|prefix| !prefix.is_empty());
        let is_comment = prefix.is_some_and(|prefix| line.starts_with(prefix));
        if is_comment {
            output.setting("comment", Value::text(line));
        }
        is_comment || line.trim().is_empty()
    }

    fn header(&mut self, header: &[String], _output: &mut Output) -> Result<(), String> {
        let mapping = &self.mapping;
        let single = [
            &mapping.kernel_column,
            &mapping.platform_column,
            &mapping.time_unit_column,
        ];
        let single = single.into_iter().flatten();
        let lists = mapping.problem.iter().chain(&mapping.configuration);
        let keys = mapping.metrics.keys().chain(mapping.only.keys());
        let named = single
            .chain(lists)
            .chain(keys)
            .chain(std::iter::once(&mapping.time_column));
        for name in named {
            if !header.contains(name) {
                return Err(format!("no column `{name}`, which the mapping names"));
            }
        }
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let only = &self.mapping.only;
        if only
            .iter()
            .any(|(name, text)| cells.get(name) != Some(text))
        {
            return Ok(());
        }
        let mut trial = trial(row);
        let given = |name: &Option<String>| {
            name.clone().map(|name| Sourced {
                name,
                origin: Origin::Option,
            })
        };
        trial.graph.kernel = given(&self.mapping.kernel);
        trial.platform = given(&self.mapping.platform);
        let mut time = None;
        let mut unit = self.mapping.time_unit.clone();
        for (name, cell) in cells.iter() {
            let sourced = || Sourced {
                name: cell.to_owned(),
                origin: Origin::File,
            };
            match self.mapping.role(name) {
                _ if cell.is_empty() => {}
                ColumnRole::Time => time = Some((name, cell)),
                ColumnRole::TimeUnit => unit = Some(cell.to_owned()),
                ColumnRole::Kernel => trial.graph.kernel = Some(sourced()),
                ColumnRole::Platform => trial.platform = Some(sourced()),
                ColumnRole::Problem => {
                    trial
                        .graph
                        .problem
                        .push((name.to_owned(), Value::text(cell)));
                }
                ColumnRole::Configuration => {
                    trial
                        .configuration
                        .push((name.to_owned(), Value::text(cell)));
                    trial.graph.parameters.push(name.to_owned());
                }
                ColumnRole::Metric(column) => {
                    let number = self.number(name, cell)?;
                    let mut metric = Metric::new(name.to_owned(), column.unit, &number);
                    cell.clone_into(&mut metric.text);
                    trial.push_metric(metric);
                }
                ColumnRole::Attribute => {
                    trial.attributes.push((name.to_owned(), Value::text(cell)));
                }
            }
        }
        match time {
            None => trial.unmeasured("empty"),
            Some((name, cell)) => {
                let unit = unit.unwrap_or_default();
                let unit = TimeUnit::parse(&unit);
                let unit = unit.ok_or_else(|| format!("no unit of time for `{name}`"))?;
                let number = self.number(name, cell)?;
                if number.value() < 0.0 {
                    return Err(format!("`{cell}` in `{name}` is negative"));
                }
                match Time::new(number, unit) {
                    Some(time) => trial.time = Some(time),
                    None => trial.fail(FailureKind::Unknown, cell),
                }
            }
        }
        output.trial(trial);
        Ok(())
    }
}

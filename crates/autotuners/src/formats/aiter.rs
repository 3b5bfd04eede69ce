//! Tuned tables and profiles of AITER. Layouts differ in columns and their order: columns are found by name.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{FailureKind, Metric, MetricKind, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::Value;

use super::rows::{Cells, TableFormat, cell_value, number, trial};

/// Columns of the configuration.
const CONFIGURATION: [&str; 37] = [
    "libtype",
    "kernelId",
    "kernelId1",
    "kernelId2",
    "solidx",
    "splitK",
    "kernelName",
    "kernelName1",
    "kernelName2",
    "block_m",
    "ksplit",
    "run_1stage",
    "xbf16",
    "flat",
    "BV",
    "max_m",
    "tile_m",
    "tile_n",
    "tile_k",
    "tile_m2",
    "tile_n2",
    "tile_k2",
    "m_warp",
    "n_warp",
    "m_warp2",
    "n_warp2",
    "num_buffers",
    "num_buffer_stage2",
    "split_k1",
    "split_k2",
    "grouped_persistent_m",
    "persistent_workers",
    "wave_specialized_tdm",
    "tdm_as_in_prologue",
    "cluster_n",
    "waves_per_tensor_tdm",
    "next_stage_prefetch",
];
const PLATFORM: [&str; 3] = ["gfx", "arch", "cu_num"];
const SHAPES: [&[&str]; 4] = [
    &["M", "N", "K"],
    &["m", "n", "k"],
    &["token", "model_dim", "inter_dim", "expert", "topk"],
    &["K", "V", "BT", "H", "Hg"],
];

/// Returns whether a header is of a table with tuned configurations.
pub(crate) fn is_header(header: &[&str]) -> bool {
    let has = |name: &&str| header.contains(name);
    let results = ["us", "us1", "duration", "kernelName1"];
    has_shape(header) && results.iter().any(has)
}

/// Returns whether a header is of shapes or kernels to tune.
pub(crate) fn is_work_list(header: &[&str]) -> bool {
    has_shape(header)
}

fn has_shape(header: &[&str]) -> bool {
    SHAPES
        .iter()
        .any(|shape| shape.iter().all(|name| header.contains(name)))
}

/// Reads a table.
#[derive(Default)]
pub(super) struct Table {
    time_column: Option<&'static str>,
}

pub(super) fn document() -> Document {
    Document::new(Format::Aiter, Coverage::Winners)
}

impl TableFormat for Table {
    fn header(&mut self, header: &[String], _output: &mut Output) -> Result<(), String> {
        let columns = ["us", "duration"];
        self.time_column = columns
            .into_iter()
            .find(|name| header.iter().any(|column| column == name));
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let mut trial = trial(row);
        trial.graph.kernel = output.options.stem(&[".csv"]).map(|name| Sourced {
            name,
            origin: Origin::Path,
        });
        let mut platform = Vec::new();
        for (name, cell) in cells.iter() {
            if CONFIGURATION.contains(&name) {
                trial
                    .configuration
                    .push((name.to_owned(), cell_value(cell)));
                trial.graph.parameters.push(name.to_owned());
            } else if PLATFORM.contains(&name) {
                if !cell.is_empty() {
                    platform.push(cell);
                    trial
                        .attributes
                        .push((name.to_owned(), Value::from_cell(cell)));
                }
            } else if name == "_tag" {
                if !cell.is_empty() {
                    trial.attributes.push((name.to_owned(), cell_value(cell)));
                }
            } else if !push_metric(&mut trial, name, cell)? && !["us", "duration"].contains(&name) {
                trial
                    .graph
                    .problem
                    .push((name.to_owned(), cell_value(cell)));
            }
        }
        if !platform.is_empty() {
            trial.platform = Some(Sourced {
                name: platform.join(" "),
                origin: Origin::File,
            });
        }
        self.time(cells, &mut trial, output)?;
        output.trial(trial);
        Ok(())
    }
}

impl Table {
    fn time(
        &self,
        cells: &Cells<'_>,
        trial: &mut Trial,
        output: &mut Output,
    ) -> Result<(), String> {
        let Some(column) = self.time_column else {
            trial.unmeasured("no column of time");
            return Ok(());
        };
        let Some(cell) = cells.get(column) else {
            trial.unmeasured("empty");
            return Ok(());
        };
        let value = number(column, cell)?;
        if value.value() == 0.0 {
            trial.unmeasured(cell);
        } else if value.value() == f64::INFINITY {
            trial.fail(FailureKind::Unknown, "inf");
        } else if value.value() < 0.0 {
            // Only the tuner's profile has candidates that failed.
            output.document.coverage = Coverage::AllTrials;
            trial.fail(FailureKind::Unknown, "invalid");
        } else if value.value() == 1.0 && has_no_work(trial) {
            trial.unmeasured("placeholder");
            trial
                .attributes
                .push((column.to_owned(), Value::Number(value)));
        } else {
            let time = Time::new(value, TimeUnit::Microseconds);
            trial.time = Some(time.ok_or_else(|| format!("`{cell}` is no time"))?);
        }
        Ok(())
    }
}

/// Returns whether `tflops` is 0. A time of 1 us without work is a placeholder.
fn has_no_work(trial: &Trial) -> bool {
    trial
        .metrics
        .iter()
        .any(|metric| metric.name == "tflops" && metric.value == 0.0)
}

/// Adds the metric of a column. Returns whether the column is a metric.
fn push_metric(trial: &mut Trial, name: &str, cell: &str) -> Result<bool, String> {
    let (name, unit) = match name {
        "us1" => ("us1", "us"),
        "us2" => ("us2", "us"),
        "tflops" => ("tflops", "TFLOP/s"),
        "bw" => ("bw", "GB/s"),
        "errRatio" => ("errRatio", "1"),
        "err_ratio" => ("err_ratio", "1"),
        "err1" => ("err1", "1"),
        "err2" => ("err2", "1"),
        _ => return Ok(false),
    };
    if cell.is_empty() {
        return Ok(true);
    }
    let percent = cell.strip_suffix('%').filter(|_| unit == "1");
    let parsed = number(name, percent.unwrap_or(cell))?;
    let mut metric = Metric::new(name, unit, &parsed);
    if percent.is_some() {
        metric.value = parsed.value() / 100.0;
        cell.clone_into(&mut metric.text);
        metric.kind = MetricKind::Float;
    }
    trial.push_metric(metric);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Number;

    #[test]
    fn percentages_become_fractions() {
        let mut trial = Trial::at(1, 0..1);
        assert_eq!(push_metric(&mut trial, "err1", "0.9%"), Ok(true));
        let expected = Number::parse("0.9").map(|number| number.value() / 100.0);
        assert_eq!(trial.metrics.first().map(|metric| metric.value), expected);
    }
}

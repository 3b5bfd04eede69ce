//! Output of FlashInfer's benchmark runner. Names of columns repeat: the second `top_k` is `top_k#2` in the problem.

use std::collections::BTreeMap;

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{Metric, Origin, Sourced};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::Value;

use super::rows::{Cells, TableFormat, number, trial};

const SETTINGS: [&str; 8] = [
    "refcheck",
    "no_cuda_graph",
    "use_cupti",
    "allow_output_mismatch",
    "random_seed",
    "case_tag",
    "generate_repro_command",
    "repro_command",
];

/// Reads such a table.
#[derive(Default)]
pub(super) struct Runs;

pub(super) fn document() -> Document {
    Document::new(Format::FlashInferCsv, Coverage::AllTrials)
}

impl TableFormat for Runs {
    fn header(&mut self, _header: &[String], _output: &mut Output) -> Result<(), String> {
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let mut trial = trial(row);
        let mut seen = BTreeMap::new();
        for (name, cell) in cells.iter() {
            let count = seen
                .entry(name)
                .and_modify(|count| *count += 1)
                .or_insert(1);
            if cell.is_empty() {
                continue;
            }
            match name {
                "median_time" => {
                    let time = Time::new(number(name, cell)?, TimeUnit::Milliseconds);
                    trial.time = Some(time.ok_or_else(|| format!("`{cell}` is no time"))?);
                }
                "std_time" => {
                    trial.push_metric(Metric::new("std_time", "ms", &number(name, cell)?))
                }
                "tflops" => {
                    trial.push_metric(Metric::new("tflops", "TFLOP/s", &number(name, cell)?))
                }
                "tb_per_sec" => {
                    trial.push_metric(Metric::new("tb_per_sec", "TB/s", &number(name, cell)?));
                }
                "backend" => {
                    trial
                        .configuration
                        .push((name.to_owned(), Value::text(cell)));
                    trial.graph.parameters.push(name.to_owned());
                }
                "routine" => {
                    trial.graph.kernel = Some(Sourced {
                        name: cell.to_owned(),
                        origin: Origin::File,
                    });
                }
                _ if SETTINGS.contains(&name) => {
                    trial.attributes.push((name.to_owned(), Value::text(cell)));
                }
                _ => {
                    let name = if *count == 1 {
                        name.to_owned()
                    } else {
                        format!("{name}#{count}")
                    };
                    trial.graph.problem.push((name, Value::text(cell)));
                }
            }
        }
        if trial.time.is_none() {
            trial.unmeasured("empty");
        }
        output.trial(trial);
        Ok(())
    }
}

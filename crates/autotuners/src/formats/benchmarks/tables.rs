//! Tables of kernel libraries: PyTorch operator benchmark, Liger-Kernel, `perf_report` of Triton, SGLang.

use crate::formats::rows::{Cells, TableFormat, number, trial};
use crate::json::parse_json;
use crate::model::{FailureKind, Metric, Origin, Sourced};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::text::Row;
use crate::value::{Number, Value};

use super::document::{set_run, set_statistic, set_time, stated};

/// Reads tables of the PyTorch operator benchmark. Columns have two spellings, so they are found by position.
pub(super) struct OperatorBenchmark;

impl TableFormat for OperatorBenchmark {
    fn header(&mut self, _: &[String], _: &mut Output) -> Result<(), String> {
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let cells: Vec<&str> = cells.iter().map(|(_, cell)| cell).collect();
        let [_, module, case, tag, backward, time] = cells.as_slice() else {
            return Err(format!("{} cells instead of 6", cells.len()));
        };
        let mut trial = trial(row);
        trial.graph.kernel = stated(*module);
        trial
            .graph
            .problem
            .push(("case".to_owned(), Value::text(*case)));
        let backward = match backward.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::text(*backward),
        };
        trial.configuration = vec![
            ("run_backward".to_owned(), backward),
            ("tag".to_owned(), Value::text(*tag)),
        ];
        set_time(
            &mut trial,
            &number("Execution Time", time)?,
            TimeUnit::Microseconds,
        );
        set_statistic(&mut trial, "median");
        output.trial(trial);
        Ok(())
    }
}

/// Reads the table of Liger-Kernel.
pub(super) struct Liger;

impl TableFormat for Liger {
    fn header(&mut self, _: &[String], _: &mut Output) -> Result<(), String> {
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let cell = |name: &str| cells.get(name).ok_or_else(|| format!("no `{name}`"));
        let mut trial = trial(row);
        trial.graph.kernel = stated(cell("kernel_name")?);
        let problem = &mut trial.graph.problem;
        problem.push((
            "mode".to_owned(),
            Value::text(cell("kernel_operation_mode")?),
        ));
        problem.push((
            cell("x_name")?.to_owned(),
            Value::from_cell(cell("x_value")?),
        ));
        if let Some(text) = cells.get("extra_benchmark_config_str") {
            let config = parse_json(text);
            let config = config.as_ref().and_then(Value::as_object);
            let config = config.ok_or("`extra_benchmark_config_str` is no JSON object")?;
            problem.extend(config.iter().cloned());
        }
        trial.configuration = vec![("provider".to_owned(), Value::text(cell("kernel_provider")?))];
        trial.platform = cells.get("gpu_name").and_then(stated);
        set_run(&mut trial, "liger_version", cells.get("liger_version"));
        trial.timestamp = cells.get("timestamp").map(str::to_owned);
        let (metric, unit) = (cell("metric_name")?, cell("metric_unit")?);
        let value = cells.number("y_value_50")?.ok_or("no `y_value_50`")?;
        if value.value().is_nan() {
            trial.fail(FailureKind::Unknown, value.text());
        } else if metric == "speed" {
            let unit = TimeUnit::parse(unit).ok_or_else(|| format!("unknown unit `{unit}`"))?;
            set_time(&mut trial, &value, unit);
            set_statistic(&mut trial, "median");
            for (column, name) in [("y_value_20", "p20"), ("y_value_80", "p80")] {
                if let Some(quantile) = cells.number(column)? {
                    trial.push_metric(Metric::new(name, unit.symbol(), &quantile));
                }
            }
        } else {
            // Liger counts megabytes of 2^20 bytes.
            let unit = if unit == "MB" { "MiB" } else { unit };
            trial.push_metric(Metric::new(metric.to_owned(), unit.to_owned(), &value));
        }
        output.trial(trial);
        Ok(())
    }
}

/// Reads tables of `triton.testing.perf_report`: neither quantity nor unit are in the file.
pub(super) struct PerfReport;

impl TableFormat for PerfReport {
    fn header(&mut self, header: &[String], _: &mut Output) -> Result<(), String> {
        if header.len() < 2 {
            return Err("expected a column of sizes and one of values".to_owned());
        }
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let sizes = output.options.run.graph_parameters.clone();
        let is_size =
            |index: usize, name: &str| index == 0 || sizes.iter().any(|size| size == name);
        let path_name = |name: Option<String>| {
            name.map(|name| Sourced {
                name,
                origin: Origin::Path,
            })
        };
        let mut base = trial(row);
        base.graph.kernel = path_name(output.options.stem(&[".csv"]));
        base.platform = path_name(output.options.folder());
        for (index, (name, cell)) in cells.iter().enumerate() {
            if is_size(index, name) {
                base.graph
                    .problem
                    .push((name.to_owned(), Value::from_cell(cell)));
            }
        }
        for (index, (name, cell)) in cells.iter().enumerate() {
            if is_size(index, name) || name == "Diff" {
                continue;
            }
            let mut trial = base.clone();
            trial.configuration = vec![("provider".to_owned(), Value::text(name))];
            let value = Number::parse(cell).filter(|value| value.value().is_finite());
            match value {
                Some(value) => trial.push_metric(Metric::new("value", "", &value)),
                None if cell.is_empty() => trial.unmeasured("empty"),
                None if Number::parse(cell).is_some() => trial.unmeasured(cell),
                None => return Err(format!("`{cell}` in `{name}` is not a number")),
            }
            output.trial(trial);
        }
        Ok(())
    }
}

/// Reads the table of SGLang's tilelang kernels: one record for each implementation that ran.
pub(super) struct Tilelang;

impl TableFormat for Tilelang {
    fn header(&mut self, _: &[String], _: &mut Output) -> Result<(), String> {
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let mut base = trial(row);
        base.graph.kernel = stated("gemm");
        for name in ["M", "N", "K"] {
            let size = cells.get(name).ok_or_else(|| format!("no `{name}`"))?;
            base.graph
                .problem
                .push((name.to_owned(), Value::from_cell(size)));
        }
        let kernel_type = cells.get("kernel_type").unwrap_or("unknown");
        let mut trials = Vec::new();
        for column in ["tilelang", "baseline", "deepgemm"] {
            let Some(time) = cells.number(&format!("{column}_ms"))? else {
                continue;
            };
            if time.value().is_nan() {
                // The implementation did not run on this device.
                continue;
            }
            let mut trial = base.clone();
            let name = match column {
                "baseline" => format!("baseline:{kernel_type}"),
                other => other.to_owned(),
            };
            trial.configuration = vec![("implementation".to_owned(), Value::text(name))];
            set_time(&mut trial, &time, TimeUnit::Milliseconds);
            set_statistic(&mut trial, "single");
            if let Some(rate) = cells.number(&format!("{column}_tflops"))? {
                trial.push_metric(Metric::new("tflops", "TFLOP/s", &rate));
            }
            if column == "tilelang"
                && let Some(difference) = cells.number("max_diff")?
            {
                trial.push_metric(Metric::new("max_diff", "", &difference));
            }
            trials.push(trial);
        }
        trials.into_iter().for_each(|trial| output.trial(trial));
        Ok(())
    }
}

//! Autotune logs of Helion. Two rows, `started` and the end, are one trial.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{FailureKind, Metric, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Row;
use crate::value::{Fields, Value};

use super::literal::parse_call;
use super::rows::{Cells, TableFormat, number, trial};

/// Reads a log.
#[derive(Default)]
pub(super) struct Log {
    started: Vec<Started>,
}

/// A row `started` without its end so far.
struct Started {
    run: Option<String>,
    config: String,
    timestamp: Option<String>,
    trial: Trial,
}

/// Maximum number of trials that may be open at once: Helion compiles in parallel processes.
const MAX_OPEN: usize = 4096;

pub(super) fn document() -> Document {
    Document::new(Format::Helion, Coverage::AllTrials)
}

impl TableFormat for Log {
    fn preamble(&mut self, line: &str, output: &mut Output) -> bool {
        let Some(text) = line.trim_start().strip_prefix('#') else {
            return false;
        };
        output.setting("metadata", Value::text(text.trim()));
        true
    }

    fn header(&mut self, header: &[String], output: &mut Output) -> Result<(), String> {
        for name in ["timestamp_s", "status", "perf_ms", "config"] {
            if !header.iter().any(|column| column == name) {
                return Err(format!("no column `{name}`"));
            }
        }
        let has_run = header.iter().any(|column| column == "run_id");
        let dialect = if has_run { "config_id" } else { "config_index" };
        output.document.version = Some(dialect.to_owned());
        Ok(())
    }

    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String> {
        let config = cells.get("config").ok_or("no `config`")?;
        let run = cells.get("run_id").map(str::to_owned);
        let timestamp = cells.get("timestamp_s").map(str::to_owned);
        let status = cells.get("status").ok_or("no `status`")?;
        let mut trial = trial(row);
        trial.configuration = parse_call(config, "Config")?;
        trial.graph.parameters = trial
            .configuration
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        trial.graph.kernel = output.options.stem(&[".csv"]).map(|name| Sourced {
            name,
            origin: Origin::Path,
        });
        if let Some(seconds) = cells.number("compile_time_s")? {
            trial.push_metric(Metric::new("compile_time", "s", &seconds));
        }
        trial.attributes = attributes(cells);
        trial.timestamp.clone_from(&timestamp);
        if status == "started" {
            trial.unmeasured("started");
            self.started.push(Started {
                run,
                config: config.to_owned(),
                timestamp,
                trial,
            });
            if self.started.len() > MAX_OPEN {
                let oldest = self.started.remove(0);
                output.trial(oldest.trial);
            }
            return Ok(());
        }
        match status {
            "ok" => {
                let cell = cells
                    .get("perf_ms")
                    .ok_or("status `ok` without `perf_ms`")?;
                let time = number("perf_ms", cell)?;
                match Time::new(time, TimeUnit::Milliseconds) {
                    Some(time) => trial.time = Some(time),
                    None => trial.fail(FailureKind::Unknown, cell),
                }
            }
            "deduplicated" => trial.unmeasured(status),
            "error" => trial.fail(FailureKind::Unknown, status),
            "timeout" => trial.fail(FailureKind::RunTimeout, status),
            "peer_compilation_fail" => trial.fail(FailureKind::CompileDevice, status),
            "filtered" => trial.fail(FailureKind::Instantiation, status),
            other => return Err(format!("unknown status `{other}`")),
        }
        let open = self
            .started
            .iter()
            .position(|open| open.run == run && open.config == config);
        if let Some(open) = open {
            let start = self.started.remove(open);
            trial.line = start.trial.line;
            trial.bytes.start = start.trial.bytes.start;
            if let Some(timestamp) = start.timestamp {
                trial
                    .attributes
                    .push(("started_s".to_owned(), Value::from_cell(&timestamp)));
            }
        }
        output.trial(trial);
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) {
        for open in self.started.drain(..) {
            output.trial(open.trial);
        }
    }
}

fn attributes(cells: &Cells<'_>) -> Fields {
    let known = [
        "timestamp_s",
        "status",
        "perf_ms",
        "compile_time_s",
        "config",
    ];
    let others = cells
        .iter()
        .filter(|(name, cell)| !known.contains(name) && !cell.is_empty());
    others
        .map(|(name, cell)| (name.to_owned(), Value::from_cell(cell)))
        .collect()
}

//! Find databases of MIOpen: `problem=entry;entry;...`, the times of all applicable solvers.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{Graph, Metric, Origin, Sourced, Trial};
use crate::output::{Output, ReadOptions};
use crate::quantity::{Time, TimeUnit};
use crate::text::Line;
use crate::value::Value;

use super::rows::{LineFormat, number};

/// Reads a find database.
#[derive(Default)]
pub(super) struct FindDb;

pub(super) fn document(options: &ReadOptions) -> Document {
    let mut document = Document::new(Format::MiopenFindDb, Coverage::AllTrials);
    let stem = options.stem(&[".txt", ".fdb"]);
    document.device = stem.and_then(|stem| platform(&stem)).map(|name| Sourced {
        name,
        origin: Origin::Path,
    });
    document
}

/// Derives the platform from a file name: `gfx900_56.OpenCL` has decimal compute units, `gfx942130.HIP` hexadecimal
/// ones behind the name of the architecture. Returns `gfx900 56 CU OpenCL`.
fn platform(stem: &str) -> Option<String> {
    let (device, backend) = stem.split_once('.').unwrap_or((stem, ""));
    let (architecture, units) = match device.split_once('_') {
        Some((architecture, units)) => (architecture, units.parse::<u32>().ok()?),
        None => {
            let digits = device.strip_prefix("gfx")?;
            // gfx9xx has three digits, gfx1xxx four.
            let length = if digits.starts_with('1') { 4 } else { 3 };
            let units = u32::from_str_radix(digits.get(length..)?, 16).ok()?;
            (device.get(..length + 3)?, units)
        }
    };
    architecture.starts_with("gfx").then(|| {
        format!("{architecture} {units} CU {backend}")
            .trim_end()
            .to_owned()
    })
}

/// Returns whether a line begins with a problem of 15 or more parts.
pub(crate) fn is_problem(line: &str) -> bool {
    line.split_once('=')
        .is_some_and(|(problem, entries)| problem.split('-').count() >= 15 && entries.contains(':'))
}

impl LineFormat for FindDb {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        if !is_problem(text) {
            return Err("expected a problem of 15 parts, `=` and entries".to_owned());
        }
        let (problem, entries) = text.split_once('=').ok_or("no `=`")?;
        let mut begin = line.bytes.start + problem.len() as u64 + 1;
        for entry in entries.split(';') {
            let end = begin + entry.len() as u64;
            if !entry.is_empty() {
                match trial(problem, entry, Trial::at(line.number, begin..end)) {
                    Ok(trial) => output.trial(trial),
                    Err(reason) => output.reject(line.number, reason),
                }
            }
            begin = end + 1;
        }
        Ok(())
    }
}

fn trial(problem: &str, entry: &str, mut trial: Trial) -> Result<Trial, String> {
    let (head, rest) = entry
        .split_once(':')
        .ok_or_else(|| format!("no `:` in `{entry}`"))?;
    let cells: Vec<&str> = rest.split(',').collect();
    let (algorithm, solver, time, workspace) = match cells.as_slice() {
        [time, workspace, algorithm] => (*algorithm, head, *time, *workspace),
        [solver, time, workspace, cache, key] => {
            let cache = Value::List(vec![Value::text(*cache), Value::text(*key)]);
            trial.attributes.push(("kcache".to_owned(), cache));
            (head, *solver, *time, *workspace)
        }
        _ => {
            return Err(format!(
                "{} cells in `{entry}`, expected 3 or 5",
                cells.len()
            ));
        }
    };
    trial.graph = Graph {
        // Find databases are of convolutions only.
        kernel: Some(Sourced {
            name: "convolution".to_owned(),
            origin: Origin::File,
        }),
        problem: vec![("problem".to_owned(), Value::text(problem))],
        parameters: vec!["algorithm".to_owned(), "solver".to_owned()],
    };
    trial.configuration = vec![
        ("algorithm".to_owned(), Value::text(algorithm)),
        ("solver".to_owned(), Value::text(solver)),
    ];
    let time = number("time", time)?;
    let text = time.text().to_owned();
    let time = Time::new(time, TimeUnit::Milliseconds);
    trial.time = Some(time.ok_or_else(|| format!("`{text}` is no time"))?);
    trial.push_metric(Metric::new(
        "workspace",
        "B",
        &number("workspace", workspace)?,
    ));
    Ok(trial)
}

//! AutoTVM logs of version 0.1. The task's arguments identify the graph; the template key belongs to the configuration.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::parse;
use crate::model::{FailureKind, Metric, Origin, Repeats, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Line;
use crate::value::{Number, Value};

use super::rows::LineFormat;

/// Reads such a log.
#[derive(Default)]
pub(super) struct Log;

pub(super) fn document() -> Document {
    let mut document = Document::new(Format::AutoTvm01, Coverage::AllTrials);
    document.version = Some("0.1".to_owned());
    document
}

impl LineFormat for Log {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        if text.starts_with(['#', ' ']) {
            return Ok(());
        }
        let record = parse(text.as_bytes()).map_err(|_| "not a line of JSON")?;
        let version = record.get("v").and_then(Value::as_number).map(Number::text);
        if version != Some("0.1") {
            return Err("not a line of version 0.1".to_owned());
        }
        let input = record.get("i").and_then(Value::as_list);
        let Some([target, task, arguments, keywords, workload, configuration]) = input else {
            return Err("`i` is not a list of six".to_owned());
        };
        let result = record.get("r").and_then(Value::as_list);
        let Some([costs, error, all_cost, timestamp]) = result else {
            return Err("`r` is not a list of four".to_owned());
        };
        let mut trial = Trial::at(line.number, line.bytes.clone());
        trial.graph.kernel = task.as_text().map(|name| Sourced {
            name: name.to_owned(),
            origin: Origin::File,
        });
        trial
            .graph
            .problem
            .push(("args".to_owned(), arguments.clone()));
        let fields = configuration
            .as_object()
            .ok_or("a configuration that is no object")?;
        trial.configuration.clone_from(fields);
        trial.platform = target.as_text().map(|name| Sourced {
            name: name.to_owned(),
            origin: Origin::File,
        });
        for (name, value) in [("kwargs", keywords), ("workload", workload)] {
            trial.attributes.push((name.to_owned(), value.clone()));
        }
        let stamp = timestamp.as_number().map(|number| number.text().to_owned());
        trial.timestamp = stamp;
        if let Some(number) = all_cost.as_number() {
            trial.push_metric(Metric::new("all_cost", "s", number));
        }
        let error = error.as_number().ok_or("an error that is no number")?;
        let costs = costs.as_list().unwrap_or_default();
        let values: Vec<Number> = costs.iter().filter_map(Value::as_number).cloned().collect();
        result_of(&mut trial, error.text(), values)?;
        output.trial(trial);
        Ok(())
    }
}

/// Takes costs and error number. The costs of a failure (1e9) are no times.
fn result_of(trial: &mut Trial, error: &str, costs: Vec<Number>) -> Result<(), String> {
    let kind = match error {
        "0" => None,
        "1" => Some(FailureKind::Instantiation),
        "2" => Some(FailureKind::CompileHost),
        "3" => Some(FailureKind::CompileDevice),
        "4" => Some(FailureKind::Runtime),
        "5" => Some(FailureKind::WrongAnswer),
        "6" => Some(FailureKind::BuildTimeout),
        "7" => Some(FailureKind::RunTimeout),
        _ => Some(FailureKind::Unknown),
    };
    if let Some(kind) = kind {
        trial.fail(kind, error);
        return Ok(());
    }
    let count = u32::try_from(costs.len()).map_err(|_| "too many costs")?;
    let number = match costs.as_slice() {
        [single] => single.clone(),
        several => {
            let sum = several
                .iter()
                .map(Number::value)
                .fold(0.0, |sum, value| sum + value);
            let mean = sum / f64::from(count);
            Number::parse(&format!("{mean:?}")).ok_or("no costs")?
        }
    };
    if number.value() >= 1e9 {
        return Err(format!("a cost of {} s without an error", number.text()));
    }
    let time = Time::new(number, TimeUnit::Seconds);
    trial.time = Some(time.ok_or("costs that are no times")?);
    trial.repeats = Some(Repeats {
        name: "costs",
        unit: "s",
        values: costs,
    });
    Ok(())
}

//! Messages of cargo-criterion: JSON values one after the other, on one line or on many.

use std::io::BufRead;

use crate::document::End;
use crate::error::Error;
use crate::json::{Failure, JsonStream, Span};
use crate::model::{Metric, Trial};
use crate::output::{FormatReader, Output};
use crate::quantity::TimeUnit;
use crate::value::{Number, Value};

use super::criterion::is_near;
use super::document::{
    mean, number, numbers, quotients, set_repeats, set_statistic, set_time, stated, text,
};

/// Reads such messages.
pub(super) struct Messages<R> {
    stream: JsonStream<R>,
}

impl<R: BufRead> Messages<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            stream: JsonStream::new(input),
        }
    }
}

impl<R: BufRead> FormatReader for Messages<R> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        if self.stream.peek()?.is_none() {
            output.document.end = End::Closed;
            return Ok(false);
        }
        let line = self.stream.line();
        match self.stream.read_value()? {
            Ok((value, span)) => {
                if text(&value, "reason") == Some("benchmark-complete") {
                    match read(&value, &span) {
                        Ok((trial, warning)) => {
                            output.trial(trial);
                            if let Some(reason) = warning {
                                output.warn_edited(line, reason);
                            }
                        }
                        Err(reason) => output.reject(line, reason),
                    }
                }
                Ok(true)
            }
            Err(Failure::Incomplete) => {
                output.reject(line, "the file ends inside a message");
                output.document.end = End::Truncated;
                Ok(false)
            }
            Err(Failure::Invalid(_, reason)) => {
                output.reject(line, reason);
                self.stream.pass_line()?;
                Ok(true)
            }
        }
    }
}

/// Reads a message of a benchmark, with a warning.
fn read(message: &Value, span: &Span) -> Result<(Trial, Option<String>), String> {
    let mut trial = Trial::at(span.line, span.bytes.clone());
    let id = text(message, "id").ok_or("a benchmark without `id`")?;
    let (group, function) = id.split_once('/').unwrap_or((id, ""));
    trial.graph.kernel = stated(group);
    if !function.is_empty() {
        trial
            .graph
            .problem
            .push(("function".to_owned(), Value::text(function)));
    }
    let list = |name: &str| {
        let list = message.get(name).and_then(Value::as_list);
        let list = list.and_then(numbers);
        list.ok_or_else(|| format!("`{name}` is no list of numbers"))
    };
    let counts = list("iteration_count")?;
    let repeats = quotients(&list("measured_values")?, &counts)?;
    let unit = text(message, "unit").ok_or("no `unit`")?;
    let estimate =
        |name: &str| -> Option<Number> { number(message.get(name)?, "estimate").cloned() };
    let time = estimate("mean").or_else(|| mean(&repeats).filter(|_| !repeats.is_empty()));
    let time = time.ok_or("no `mean`")?;
    let mut warning = None;
    if let Some(unit) = TimeUnit::parse(unit) {
        set_time(&mut trial, &time, unit);
        set_statistic(&mut trial, "mean");
        if mean(&repeats).is_some_and(|mean| !is_near(&time, &mean)) {
            warning = Some(format!(
                "`{id}`: its mean is not that of its measured values"
            ));
        }
        set_repeats(&mut trial, "measured_values", unit, repeats);
    } else {
        // A measurement of another quantity, such as cycles.
        for value in &repeats {
            trial.push_metric(Metric::new("measured", unit.to_owned(), value));
        }
    }
    for count in &counts {
        trial.push_metric(Metric::new("iterations", "", count));
    }
    if let Some(slope) = estimate("slope") {
        trial.push_metric(Metric::new("slope", unit.to_owned(), &slope));
    }
    if let Some(change) = message
        .get("change")
        .filter(|change| change.get("mean").is_some())
    {
        let mean = change.get("mean").and_then(|mean| number(mean, "estimate"));
        if let Some(mean) = mean {
            // The message states `%`, but the number is a fraction.
            trial.push_metric(Metric::new("change_of_mean", "1", mean));
        }
        if let Some(word) = change.get("change") {
            trial.attributes.push(("change".to_owned(), word.clone()));
        }
    }
    let throughput = message.get("throughput").and_then(Value::as_list);
    if let Some([first, ..]) = throughput {
        trial
            .attributes
            .push(("throughput".to_owned(), first.clone()));
    }
    Ok((trial, warning))
}

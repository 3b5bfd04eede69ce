//! Triton's `*.autotune.json`: all configurations of one key with three quantiles of their times.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::Span;
use crate::model::{FailureKind, Metric, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::value::{Number, Value};

use super::elements::ElementFormat;

/// Reads such a file.
#[derive(Default)]
pub(super) struct Timings {
    key: Option<Value>,
}

pub(super) fn document() -> Document {
    Document::new(Format::Triton, Coverage::AllTrials)
}

impl ElementFormat for Timings {
    fn opens(&self, field: &str) -> Option<u8> {
        (field == "configs_timings").then_some(b'[')
    }

    fn field(&mut self, name: &str, value: Value, output: &mut Output) -> Result<(), String> {
        if name == "key" {
            self.key = Some(value.clone());
        }
        output.setting(name, value);
        Ok(())
    }

    fn element(
        &mut self,
        _key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let Some([configuration, timings]) = value.as_list() else {
            return Err("expected a pair of configuration and times".to_owned());
        };
        let fields = configuration
            .as_object()
            .ok_or("a configuration that is no object")?;
        let mut trial = Trial::at(span.line, span.bytes.clone());
        for (name, value) in fields {
            match value {
                Value::Object(inner) if name == "kwargs" => {
                    trial.configuration.extend(inner.iter().cloned());
                }
                other => trial.configuration.push((name.clone(), other.clone())),
            }
        }
        trial.graph.parameters = trial
            .configuration
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        trial.graph.kernel = output
            .options
            .stem(&[".json", ".autotune"])
            .map(|name| Sourced {
                name,
                origin: Origin::Path,
            });
        if let Some(key) = &self.key {
            trial.graph.problem.push(("key".to_owned(), key.clone()));
        }
        let single = std::slice::from_ref(timings);
        let list = timings.as_list().unwrap_or(single);
        let numbers: Vec<&Number> = list.iter().filter_map(Value::as_number).collect();
        let (Some(time), true) = (numbers.first(), numbers.len() == list.len()) else {
            return Err("times that are no numbers".to_owned());
        };
        match Time::new((*time).clone(), TimeUnit::Milliseconds) {
            Some(time) => {
                trial.time = Some(time);
                for (name, number) in ["time_p20", "time_p80"]
                    .into_iter()
                    .zip(numbers.iter().skip(1))
                {
                    trial.push_metric(Metric::new(name, "ms", number));
                }
            }
            None => trial.fail(FailureKind::Unknown, time.text()),
        }
        output.trial(trial);
        Ok(())
    }
}

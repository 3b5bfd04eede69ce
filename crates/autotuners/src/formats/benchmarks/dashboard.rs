//! Records of the PyTorch benchmark dashboard. The values of a metric are of different input shapes, not repeats.

use crate::model::{Metric, Trial};
use crate::output::Output;
use crate::value::{Fields, Number, Value};

use super::document::{BenchmarkDocument, Element, stated, text};

/// Reads such a list.
pub(super) struct Entries;

impl BenchmarkDocument for Entries {
    fn results(&self) -> Option<(&'static str, u8)> {
        Some(("", b'['))
    }

    fn emit(&self, _: &Fields, elements: Vec<Element>, output: &mut Output) -> Result<(), String> {
        for element in elements {
            match read(&element) {
                Ok(trials) => trials.into_iter().for_each(|trial| output.trial(trial)),
                Err(reason) => output.reject(element.span.line, reason),
            }
        }
        Ok(())
    }
}

fn read(element: &Element) -> Result<Vec<Trial>, String> {
    let part = |name: &str| element.value.get(name).unwrap_or(&Value::Null);
    let (benchmark, model, metric) = (part("benchmark"), part("model"), part("metric"));
    let mut base = element.trial();
    base.graph.kernel = text(model, "name").and_then(stated);
    if base.graph.kernel.is_none() {
        return Err("an entry without the name of a model".to_owned());
    }
    for name in ["mode", "dtype"] {
        if let Some(value) = benchmark
            .get(name)
            .filter(|value| value.as_text().is_some())
        {
            base.graph.problem.push((name.to_owned(), value.clone()));
        }
    }
    let device = benchmark
        .get("extra_info")
        .and_then(|info| text(info, "device"));
    base.platform = device.and_then(stated);
    if let Some(backend) = model
        .get("backend")
        .filter(|value| value.as_text().is_some())
    {
        base.configuration
            .push(("backend".to_owned(), backend.clone()));
    }
    for (name, value) in [
        ("benchmark", benchmark.get("name")),
        ("target_value", metric.get("target_value")),
    ] {
        if let Some(value) = value {
            base.attributes.push((name.to_owned(), value.clone()));
        }
    }
    let name = text(metric, "name").ok_or("a metric without name")?;
    let unit = text(metric, "unit").unwrap_or_default();
    let values = metric.get("benchmark_values").and_then(Value::as_list);
    let values = values.ok_or("no `benchmark_values`")?;
    let shapes = metric.get("shape").or_else(|| element.value.get("shape"));
    let shapes = shapes.and_then(Value::as_list);
    let mut trials = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let mut trial = base.clone();
        let position = || Number::parse(&index.to_string()).map_or(Value::Null, Value::Number);
        let shape = shapes.and_then(|shapes| shapes.get(index)).cloned();
        trial
            .configuration
            .push(("shape".to_owned(), shape.unwrap_or_else(position)));
        match value {
            Value::Number(number) if number.value().is_finite() => {
                trial.push_metric(Metric::new(name.to_owned(), unit.to_owned(), number));
            }
            Value::Null => trial.unmeasured("null"),
            Value::Number(number) => trial.unmeasured(number.text()),
            _ => return Err("`benchmark_values` has a value that is no number".to_owned()),
        }
        trials.push(trial);
    }
    Ok(trials)
}

//! Autotuning caches of tokamax: winners of each bound argument list, with their repeats.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::{Span, parse};
use crate::model::{Graph, Metric, Origin, Repeats, Sourced, Trial};
use crate::output::{Output, ReadOptions};
use crate::quantity::{Time, TimeUnit};
use crate::value::{Number, Value};

use super::elements::ElementFormat;

/// Reads a cache.
pub(super) struct Cache {
    kernel: Option<Sourced>,
    implementation: Option<String>,
}

/// Prefixes of file names that name the implementation of an operator.
const IMPLEMENTATIONS: [&str; 4] = [
    "pallas_mosaic_gpu_",
    "pallas_mosaic_tpu_",
    "pallas_triton_",
    "chunked_xla_",
];

pub(super) fn document(options: &ReadOptions) -> Document {
    let mut document = Document::new(Format::Tokamax, Coverage::Winners);
    document.device = options.folder().map(|name| Sourced {
        name,
        origin: Origin::Path,
    });
    document
}

impl Cache {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let stem = options.stem(&[".json"]);
        let found = stem.as_deref().and_then(|stem| {
            IMPLEMENTATIONS
                .iter()
                .find_map(|prefix| Some((prefix, stem.strip_prefix(prefix)?)))
        });
        let implementation = found.map(|(prefix, _)| prefix.trim_end_matches('_').to_owned());
        let name = found.map(|(_, name)| name.to_owned()).or(stem);
        Self {
            kernel: name.map(|name| Sourced {
                name,
                origin: Origin::Path,
            }),
            implementation,
        }
    }

    fn configurations(
        &self,
        key: &Value,
        configurations: &Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let graph = Graph {
            kernel: self.kernel.clone(),
            problem: key.as_object().ok_or("a key that is no object")?.clone(),
            parameters: Vec::new(),
        };
        let list = configurations
            .as_object()
            .ok_or("a key without configurations")?;
        if list.is_empty() {
            output.empty_graph(span.line, graph.clone());
        }
        for (text, data) in list {
            match self.trial(&graph, text, data, span) {
                Ok(trial) => output.trial(trial),
                Err(reason) => output.reject(span.line, reason),
            }
        }
        Ok(())
    }

    fn trial(&self, graph: &Graph, text: &str, data: &Value, span: &Span) -> Result<Trial, String> {
        let mut trial = Trial::at(span.line, span.bytes.clone());
        let configuration = parse(text.as_bytes()).ok();
        let configuration = configuration.as_ref().and_then(Value::as_object);
        trial
            .configuration
            .clone_from(configuration.ok_or("a configuration that is no object")?);
        trial.graph = graph.clone();
        trial.graph.parameters = trial
            .configuration
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let times = data.get("evaluation_times_ms").and_then(Value::as_list);
        let times = times.ok_or("no `evaluation_times_ms`")?;
        let values: Vec<Number> = times.iter().filter_map(Value::as_number).cloned().collect();
        if values.len() != times.len() || values.is_empty() {
            return Err("`evaluation_times_ms` is not a list of numbers".to_owned());
        }
        let sum: f64 = values
            .iter()
            .map(Number::value)
            .fold(0.0, |sum, value| sum + value);
        let count = u32::try_from(values.len()).map_err(|_| "too many repeats")?;
        let mean = sum / f64::from(count);
        let mean = Number::parse(&format!("{mean:?}"));
        let time = mean.and_then(|mean| Time::new(mean, TimeUnit::Milliseconds));
        trial.time = Some(time.ok_or("a repeat that is no time")?);
        trial.repeats = Some(Repeats {
            name: "evaluation_times_ms",
            unit: "ms",
            values,
        });
        for (name, value) in data.as_object().into_iter().flatten() {
            let metric = match (name.as_str(), value) {
                ("compile_time_ms", Value::Number(number)) => {
                    Metric::new("compile_time", "ms", number)
                }
                ("lower_time_ms", Value::Number(number)) => Metric::new("lower_time", "ms", number),
                ("peak_memory_mb", Value::Number(number)) => {
                    trial
                        .attributes
                        .push(("mb_bytes".to_owned(), bytes_per_mb(number)));
                    Metric::new("peak_memory", "MB", number)
                }
                ("evaluation_times_ms", _) => continue,
                (_, other) => {
                    trial.attributes.push((name.clone(), other.clone()));
                    continue;
                }
            };
            trial.push_metric(metric);
        }
        if let Some(name) = &self.implementation {
            trial
                .attributes
                .push(("implementation".to_owned(), Value::text(name)));
        }
        Ok(trial)
    }
}

/// Decides whether `peak_memory_mb` counts 1000000 or 1048576 bytes: the one that gives whole bytes. `null` if both or
/// neither do.
fn bytes_per_mb(number: &Number) -> Value {
    let is_whole = |scale: f64| {
        let bytes = number.value() * scale;
        (bytes - bytes.round()).abs() <= bytes.abs() * 1e-14
    };
    let unit = match (is_whole(1e6), is_whole(1_048_576.0)) {
        (true, false) => "1000000",
        (false, true) => "1048576",
        _ => return Value::Null,
    };
    Value::from_cell(unit)
}

impl ElementFormat for Cache {
    fn opens(&self, field: &str) -> Option<u8> {
        field.is_empty().then_some(b'{')
    }

    fn element(
        &mut self,
        key: Option<String>,
        value: Value,
        span: &Span,
        output: &mut Output,
    ) -> Result<(), String> {
        let key = key.unwrap_or_default();
        match key.as_str() {
            // A user's own result.
            "device_kind" => {
                output.document.coverage = Coverage::AllTrials;
                output.document.device = value.as_text().map(|name| Sourced {
                    name: name.to_owned(),
                    origin: Origin::File,
                });
                output.setting(&key, value);
                Ok(())
            }
            "tokamax_version" => {
                output.document.version = value.as_text().map(str::to_owned);
                output.setting(&key, value);
                Ok(())
            }
            "data" => {
                for pair in value.as_list().unwrap_or_default() {
                    let [arguments, configurations] = pair.as_list().unwrap_or_default() else {
                        return Err("`data` is not a list of pairs".to_owned());
                    };
                    let parsed = arguments
                        .as_text()
                        .and_then(|text| parse(text.as_bytes()).ok());
                    let arguments = parsed.as_ref().unwrap_or(arguments);
                    self.configurations(arguments, configurations, span, output)?;
                }
                Ok(())
            }
            text => {
                let key = parse(text.as_bytes()).map_err(|_| "a key that is no JSON")?;
                self.configurations(&key, &value, span, output)
            }
        }
    }
}

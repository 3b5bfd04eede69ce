//! Caches of Kernel Tuner.
//!
//! The file is read entry by entry. Its end is optional: Kernel Tuner closes a cache only when tuning is finished.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io::BufRead;

use crate::document::{Coverage, Document, End};
use crate::error::Error;
use crate::format::Format;
use crate::json::{Failure, Found, JsonStream, Span};
use crate::model::{FailureKind, Graph, Metric, Origin, Repeats, Sourced, Trial};
use crate::output::{FormatReader, Output};
use crate::quantity::{Time, TimeUnit};
use crate::space::{Parameter, Space};
use crate::value::{Fields, Value, get};

/// Reads a cache.
pub(super) struct Cache<R> {
    stream: JsonStream<R>,
    state: State,
    parameters: Vec<String>,
    graph: Graph,
    seen: HashSet<u64>,
    hasher: RandomState,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Start,
    Header,
    Entries,
    Tail,
}

pub(super) fn document() -> Document {
    let mut document = Document::new(Format::KernelTunerCache, Coverage::AllTrials);
    document.version = Some("before 1.4.0".to_owned());
    document
}

impl<R: BufRead> Cache<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            stream: JsonStream::new(input).with_flat_elements(),
            state: State::Start,
            parameters: Vec::new(),
            graph: Graph::default(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    fn header(&mut self, output: &mut Output) -> Result<bool, Error> {
        let line = self.stream.line();
        match self.stream.next_key()? {
            Found::Key(key) if key == "cache" => {
                if !self.stream.open(b'{')? {
                    return Err(Error::header(line, "`cache` is not an object"));
                }
                self.state = State::Entries;
                Ok(true)
            }
            Found::Key(key) => match self.stream.read_value()? {
                Ok((value, _)) => {
                    self.field(&key, value, output);
                    Ok(true)
                }
                Err(Failure::Incomplete) => self.truncated(line, output),
                Err(Failure::Invalid(_, reason)) => {
                    Err(Error::header(line, format!("`{key}`: {reason}")))
                }
            },
            Found::End => {
                output.document.end = End::Closed;
                Ok(false)
            }
            Found::EndOfInput => {
                let end = if self.state == State::Tail {
                    End::Open
                } else {
                    End::Truncated
                };
                output.document.end = end;
                Ok(false)
            }
            Found::Bad(line, reason) if self.state == State::Tail => {
                output.reject(line, reason);
                output.document.end = End::Truncated;
                Ok(false)
            }
            Found::Bad(line, reason) => Err(Error::header(line, reason)),
            Found::Truncated(line) => self.truncated(line, output),
            Found::Element { .. } => Ok(true),
        }
    }

    fn truncated(&self, line: u64, output: &mut Output) -> Result<bool, Error> {
        output.reject(line, "the file ends inside its header");
        output.document.end = End::Truncated;
        Ok(false)
    }

    fn field(&mut self, key: &str, value: Value, output: &mut Output) {
        match key {
            "device_name" => {
                let name = value.as_text().filter(|name| !name.is_empty());
                output.document.device = name.map(|name| Sourced {
                    name: name.to_owned(),
                    origin: Origin::File,
                });
            }
            "kernel_name" => {
                self.graph.kernel = value.as_text().map(|name| Sourced {
                    name: name.to_owned(),
                    origin: Origin::File,
                });
            }
            "problem_size" => self.graph.problem.push((key.to_owned(), value.clone())),
            "tune_params_keys" => {
                let names = value.as_list().unwrap_or_default().iter();
                self.parameters = names
                    .filter_map(Value::as_text)
                    .map(str::to_owned)
                    .collect();
                self.graph.parameters.clone_from(&self.parameters);
                self.graph.parameters.sort();
            }
            "tune_params" => output.document.space = value.as_object().map(space),
            "objective" => {
                if let Some(name) = value.as_text() {
                    name.clone_into(&mut output.document.objective);
                }
            }
            _ => {}
        }
        output.document.settings.push((key.to_owned(), value));
    }

    fn entry(&mut self, output: &mut Output) -> Result<bool, Error> {
        match self.stream.next_element(b'}')? {
            Found::Element { key, value, span } => {
                let hash = self.hasher.hash_one(&key);
                if !self.seen.insert(hash) {
                    let key = key.unwrap_or_default();
                    output.reject(span.line, format!("key `{key}` occurs twice"));
                } else if let Value::Object(fields) = value {
                    match self.trial(fields, &span, output) {
                        Ok(trial) => output.trial(trial),
                        Err(reason) => output.reject(span.line, reason),
                    }
                } else {
                    output.reject(span.line, "an entry that is no object");
                }
                Ok(true)
            }
            Found::End => {
                self.state = State::Tail;
                Ok(true)
            }
            Found::EndOfInput => {
                output.document.end = End::Open;
                Ok(false)
            }
            Found::Truncated(line) => {
                output.reject(line, "the file ends inside this entry");
                output.document.end = End::Truncated;
                Ok(false)
            }
            Found::Bad(line, reason) => {
                output.reject(line, reason);
                Ok(true)
            }
            Found::Key(_) => Ok(true),
        }
    }

    fn trial(&self, fields: Fields, span: &Span, output: &mut Output) -> Result<Trial, String> {
        let mut trial = Trial::at(span.line, span.bytes.clone());
        trial.graph = self.graph.clone();
        for name in &self.parameters {
            let value = get(&fields, name).ok_or_else(|| format!("no parameter `{name}`"))?;
            trial.configuration.push((name.clone(), value.clone()));
        }
        let objective = output.document.objective.clone();
        let is_time = objective == "time";
        let repeats = if is_time {
            "times".to_owned()
        } else {
            format!("{objective}s")
        };
        let stated = get(&fields, &objective);
        let marker = get(&fields, "__error__").or(stated);
        match (marker, stated) {
            (Some(Value::Text(word)), _) => {
                let kind = failure_kind(word).ok_or_else(|| format!("unknown result `{word}`"))?;
                trial.fail(kind, word);
                if get(&fields, "__error__").is_some() {
                    output.document.version = Some("1.4.0".to_owned());
                }
            }
            (Some(_), Some(Value::Number(number))) if is_time => {
                match Time::new(number.clone(), TimeUnit::Milliseconds) {
                    Some(time) => trial.time = Some(time),
                    None => trial.fail(FailureKind::Unknown, number.text()),
                }
            }
            (Some(_), Some(Value::Number(number))) => {
                trial.push_metric(Metric::new(objective.clone(), "", number));
            }
            (None, _) => return Err(format!("neither `{objective}` nor `__error__`")),
            _ => return Err(format!("`{objective}` is neither a number nor a failure")),
        }
        for (name, value) in fields {
            if self.parameters.contains(&name) || name == objective || name == "__error__" {
                continue;
            }
            match value {
                Value::List(list) if name == repeats => {
                    let values = list.iter().filter_map(Value::as_number).cloned().collect();
                    trial.repeats = Some(Repeats {
                        name: if is_time { "times" } else { "scores" },
                        unit: if is_time { "ms" } else { "" },
                        values,
                    });
                }
                Value::Number(number) => {
                    let unit = unit(&name);
                    trial.push_metric(Metric::new(name, unit, &number));
                }
                Value::Text(text) if name == "timestamp" => trial.timestamp = Some(text),
                other => trial.attributes.push((name, other)),
            }
        }
        Ok(trial)
    }
}

impl<R: BufRead> FormatReader for Cache<R> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        match self.state {
            State::Start => {
                if !self.stream.open(b'{')? {
                    return Err(Error::header(self.stream.line(), "expected an object"));
                }
                self.state = State::Header;
                Ok(true)
            }
            State::Header | State::Tail => self.header(output),
            State::Entries => self.entry(output),
        }
    }
}

fn space(fields: &Fields) -> Space {
    let parameter = |(name, values): &(String, Value)| Parameter {
        name: name.clone(),
        type_name: None,
        values: values.as_list().unwrap_or_default().to_vec(),
        expression: None,
        default: None,
    };
    Space {
        parameters: fields.iter().map(parameter).collect(),
        conditions: None,
    }
}

/// Kind of a word of failure.
fn failure_kind(word: &str) -> Option<FailureKind> {
    Some(match word {
        "InvalidConfig" => FailureKind::Instantiation,
        "CompilationFailedConfig" => FailureKind::CompileDevice,
        "RuntimeFailedConfig" => FailureKind::Runtime,
        "ErrorConfig" => FailureKind::Unknown,
        _ => return None,
    })
}

/// Unit of a field, implied by its name.
fn unit(name: &str) -> &'static str {
    match name {
        "compile_time" | "verification_time" | "benchmark_time" | "strategy_time"
        | "framework_time" => "ms",
        "GFLOP/s" => "GFLOP/s",
        "GB/s" => "GB/s",
        "GFLOPS/W" => "GFLOPS/W",
        "core_freq" | "pwr_core_freq" | "mem_freq" => "MHz",
        "temperature" => "degC",
        "nvml_power" | "ps_power" => "W",
        "ps_energy" | "energy" | "nvml_energy" => "J",
        _ => "",
    }
}

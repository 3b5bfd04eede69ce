//! T1, the input schema of the FAIR benchmark group: a search space without trials.

use std::io::BufRead;

use crate::document::{Coverage, Document, End};
use crate::error::Error;
use crate::format::Format;
use crate::json::{Failure, JsonStream};
use crate::output::{FormatReader, Output};
use crate::space::{Condition, Expression, Operand, Parameter, Space};
use crate::value::Value;

/// Reads a T1 file.
pub(super) struct Description<R>(JsonStream<R>);

pub(super) fn document() -> Document {
    Document::new(Format::T1, Coverage::AllTrials)
}

impl<R: BufRead> Description<R> {
    pub(super) fn new(input: R) -> Self {
        Self(JsonStream::new(input))
    }
}

impl<R: BufRead> FormatReader for Description<R> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        let value = match self.0.read_value()? {
            Ok((value, _)) => value,
            Err(Failure::Incomplete) => {
                output.reject(1, "the file ends before its closing bracket");
                output.document.end = End::Truncated;
                return Ok(false);
            }
            Err(Failure::Invalid(_, reason)) => return Err(Error::header(1, reason)),
        };
        let empty = Value::Null;
        let space = value.get("ConfigurationSpace").unwrap_or(&empty);
        let parameters = space.get("TuningParameters").and_then(Value::as_list);
        let mut result = Space {
            parameters: Vec::new(),
            conditions: Some(Vec::new()),
        };
        for entry in parameters.unwrap_or_default() {
            match parameter(entry) {
                Ok(parameter) => result.parameters.push(parameter),
                Err(reason) => output.reject(1, reason),
            }
        }
        let conditions = space
            .get("Conditions")
            .and_then(Value::as_list)
            .unwrap_or_default();
        for entry in conditions {
            let Some(text) = entry.get("Expression").and_then(Value::as_text) else {
                output.reject(1, "a condition without `Expression`");
                continue;
            };
            let expression = Expression::parse(text);
            if let Err(error) = &expression {
                output.reject(1, error.to_string());
            }
            if let Some(conditions) = &mut result.conditions {
                conditions.push(Condition {
                    text: text.to_owned(),
                    expression: expression.ok(),
                });
            }
        }
        output.document.space = Some(result);
        output.document.end = End::Closed;
        if let Value::Object(fields) = value {
            output.document.settings = fields;
        }
        Ok(false)
    }
}

fn parameter(entry: &Value) -> Result<Parameter, String> {
    let name = entry
        .get("Name")
        .and_then(Value::as_text)
        .ok_or("a parameter without `Name`")?;
    let mut expression = None;
    let values = match entry.get("Values") {
        Some(Value::List(list)) => list.clone(),
        Some(Value::Text(text)) => {
            expression = Some(text.clone());
            let parsed = Expression::parse(text).map_err(|error| error.to_string())?;
            match parsed.evaluate(&|_| None) {
                Ok(Operand::List(list)) => list.iter().map(Operand::to_value).collect(),
                Ok(_) => return Err(format!("parameter `{name}`: the values are no list")),
                Err(error) => return Err(format!("parameter `{name}`: {error}")),
            }
        }
        _ => return Err(format!("parameter `{name}` has no values")),
    };
    Ok(Parameter {
        name: name.to_owned(),
        type_name: entry
            .get("Type")
            .and_then(Value::as_text)
            .map(str::to_owned),
        values,
        expression,
        default: entry.get("Default").cloned(),
    })
}

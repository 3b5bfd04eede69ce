//! Names of benchmarks as the expected values spell them.

use tsql_autotuners::{Fields, Format, Trial, Value};

use crate::kernel;

/// JSON with sorted names and without blanks. Numbers keep their text.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            let fields = fields.iter().map(|(name, value)| {
                format!("{}:{}", Value::text(name).to_json(), canonical(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::List(list) => {
            let list: Vec<String> = list.iter().map(canonical).collect();
            format!("[{}]", list.join(","))
        }
        other => other.to_json(),
    }
}

/// Fields with numbers as text.
fn as_texts(fields: &Fields) -> Fields {
    let fields = fields.iter().map(|(name, value)| {
        let text = value.as_number().map(|number| Value::text(number.text()));
        (name.clone(), text.unwrap_or_else(|| value.clone()))
    });
    fields.collect()
}

fn problem_value(trial: &Trial, name: &str) -> Value {
    let found = trial.graph.problem.iter().find(|(known, _)| known == name);
    found.map_or(Value::Null, |(_, value)| value.clone())
}

/// Graph and configuration of a trial.
pub(crate) fn name_of(trial: &Trial, format: Format) -> String {
    let own = Value::text(kernel(trial));
    let mut configuration = trial.configuration.clone();
    let graph = match format {
        Format::CriterionSample => {
            if configuration.is_empty() {
                configuration.push(("value".to_owned(), Value::Null));
            }
            canonical(&Value::List(vec![own, problem_value(trial, "function")]))
        }
        Format::CargoCriterion => {
            let function = problem_value(trial, "function");
            format!("{}/{}", kernel(trial), function.as_text().unwrap())
        }
        Format::Liger => {
            let mode = problem_value(trial, "mode");
            let mut problem: Fields = trial.graph.problem.iter().skip(1).cloned().collect();
            let size = as_texts(&problem.drain(..1).collect());
            problem.extend(size);
            canonical(&Value::List(vec![own, mode, Value::Object(problem)]))
        }
        Format::Tilelang => {
            let problem = as_texts(&trial.graph.problem);
            canonical(&Value::List(vec![own, Value::Object(problem)]))
        }
        Format::GithubAction => canonical(&Value::List(vec![own, problem_value(trial, "name")])),
        Format::OperatorBenchmark => {
            configuration = trial.graph.problem.clone();
            kernel(trial).to_owned()
        }
        Format::BenchmarkDotNet => {
            let parts = configuration.iter();
            let parts = parts.map(|(name, value)| format!("{name}={}", value.as_text().unwrap()));
            let parts = parts.collect::<Vec<_>>().join("&");
            configuration.clear();
            if !parts.is_empty() {
                configuration.push(("Parameters".to_owned(), Value::text(parts)));
            }
            kernel(trial).to_owned()
        }
        Format::GoogleBenchmark | Format::Jmh => {
            configuration = as_texts(&configuration);
            kernel(trial).to_owned()
        }
        _ => kernel(trial).to_owned(),
    };
    if configuration.is_empty() {
        graph
    } else {
        format!("{graph} {}", canonical(&Value::Object(configuration)))
    }
}

//! The model in the spelling of the expected values.

use serde_json::{Value as Json, json};
use tsql_autotuners::{Document, Format, Status, Trial, Value};

/// The result as the expected values count it: a score where the objective is no time.
pub(crate) fn result_of(trial: &Trial, document: &Document, format: Format) -> Option<f64> {
    if let Status::Ok = trial.status {
        if let Some(time) = &trial.time {
            return Some(time.number.value());
        }
        let metric = trial
            .metrics
            .iter()
            .find(|metric| metric.name == document.objective);
        return metric.map(|metric| metric.value);
    }
    // The expected values count AITER's placeholders as times.
    (format == Format::Aiter && is_placeholder(trial)).then_some(1.0)
}

pub(crate) fn is_placeholder(trial: &Trial) -> bool {
    matches!(&trial.status, Status::Unmeasured { reason } if reason == "placeholder")
}

/// The expected word of a failure.
pub(crate) fn failure_of(trial: &Trial, format: Format) -> Option<String> {
    match (&trial.status, format) {
        (Status::Failed { word, .. }, Format::KernelTunerCache) => Some(
            match word.as_str() {
                "InvalidConfig" => "constraints",
                "CompilationFailedConfig" => "compile",
                "RuntimeFailedConfig" => "runtime",
                _ => "unknown",
            }
            .to_owned(),
        ),
        (Status::Failed { word, .. }, _) => Some(word.clone()),
        // The expected values count the author's skips as failures.
        (Status::Unmeasured { reason }, Format::NvbenchJson | Format::NvbenchCsv) => {
            Some(reason.clone())
        }
        _ => None,
    }
}

pub(crate) fn json_of(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap()
}

pub(crate) fn kernel_of(trial: &Trial) -> &str {
    trial
        .graph
        .kernel
        .as_ref()
        .map_or("", |kernel| &kernel.name)
}

/// Graph as the expected values spell it.
pub(crate) fn graph_of(trial: &Trial, format: Format) -> Json {
    let problem = json_of(&Value::Object(trial.graph.problem.clone()));
    let kernel = kernel_of(trial);
    let with = |name: &str| {
        let mut graph = problem.clone();
        graph[name] = json!(kernel);
        graph
    };
    match format {
        Format::KernelTunerCache => {
            let mut graph = with("kernel_name");
            if graph.get("problem_size").is_none() {
                graph["problem_size"] = Json::Null;
            }
            graph
        }
        Format::T4 | Format::Helion => Json::Null,
        Format::KttJson | Format::KttCsv => json!({"KernelName": kernel}),
        Format::MiopenFindDb => problem["problem"].clone(),
        Format::FlashInferBench => json!({"definition": kernel, "axes": problem}),
        Format::FlashInferCsv => {
            let mut pairs = vec![json!(["routine", kernel])];
            for (name, value) in &trial.graph.problem {
                pairs.push(json!([name.split('#').next(), json_of(value)]));
            }
            Json::Array(pairs)
        }
        Format::Inductor => with("op"),
        Format::TunableOp => with("op"),
        Format::NvbenchJson | Format::NvbenchCsv => json!({"benchmark": kernel}),
        Format::KernelBench | Format::KernelBenchRuns => with("problem"),
        Format::AutoTvm01 => json!([kernel, problem["args"]]),
        Format::Table => with("OPName"),
        _ => problem,
    }
}

pub(crate) fn config_of(trial: &Trial, format: Format) -> Json {
    let mut config = json_of(&Value::Object(trial.configuration.clone()));
    if format == Format::NvbenchCsv {
        // The expected values leave out the axes of later benchmarks, which are behind the results.
        config
            .as_object_mut()
            .unwrap()
            .retain(|name, _| name != "In" && name != "Out");
    }
    if format == Format::Inductor {
        // The expected values keep the number of the template and the text of the literals.
        let (_, name) = trial
            .attributes
            .iter()
            .find(|(name, _)| name == "name")
            .unwrap();
        config["choice"] = json_of(name);
        for (name, value) in config.as_object_mut().unwrap() {
            if name != "choice" {
                *value = json!(match &*value {
                    Json::String(text) => format!("'{text}'"),
                    Json::Bool(true) => "True".to_owned(),
                    Json::Bool(false) => "False".to_owned(),
                    Json::Null => "None".to_owned(),
                    other => other.to_string(),
                });
            }
        }
    }
    config
}

//! AUTOTUNE blocks in logs of PyTorch Inductor. Other lines of the log are passed.

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::json::parse;
use crate::model::{FailureKind, Graph, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::Line;
use crate::value::{Number, Value};

use super::literal::parse_pairs;
use super::rows::LineFormat;

/// Reads a log. Footers and statistics of the blocks become lists in the settings of the document.
#[derive(Default)]
pub(super) struct Log {
    graph: Option<Graph>,
    expects_statistics: bool,
}

pub(super) fn document() -> Document {
    Document::new(Format::Inductor, Coverage::BestFew)
}

/// Splits a line that ends with `AUTOTUNE op(sizes)` into operator and sizes.
pub(crate) fn heading(line: &str) -> Option<(&str, &str)> {
    let (_, call) = line.trim_end().rsplit_once("AUTOTUNE ")?;
    let (operator, sizes) = call.strip_suffix(')')?.split_once('(')?;
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|character| character.is_alphanumeric() || character == '_')
    };
    (is_name(operator) && !sizes.contains(')')).then_some((operator, sizes))
}

impl LineFormat for Log {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        if let Some((operator, sizes)) = heading(text) {
            self.graph = Some(Graph {
                kernel: Some(Sourced {
                    name: operator.to_owned(),
                    origin: Origin::File,
                }),
                problem: vec![("sizes".to_owned(), Value::text(sizes))],
                parameters: Vec::new(),
            });
            return Ok(());
        }
        if self.expects_statistics {
            self.expects_statistics = false;
            if let Ok(value) = parse(text.trim().as_bytes()) {
                output.add_to_setting("statistics", value);
            }
            return Ok(());
        }
        if text.trim_end().ends_with("Autotune Choices Stats:") {
            self.expects_statistics = true;
            return Ok(());
        }
        if text.contains("Process AUTOTUNE ") && text.contains("takes ") {
            let graph = self.graph.take();
            output.add_to_setting("footers", footer(text, graph.as_ref()));
            return Ok(());
        }
        let Some(graph) = &mut self.graph else {
            return Ok(());
        };
        for name in ["strides", "dtypes"] {
            let found = text
                .split_once(name)
                .and_then(|(_, rest)| rest.strip_prefix(": "));
            if let Some(value) = found {
                graph.problem.push((name.to_owned(), Value::text(value)));
                return Ok(());
            }
        }
        if let Some(trial) = choice(text, line, graph)? {
            output.trial(trial);
        }
        Ok(())
    }
}

/// Parses `  name 0.0235 ms 93.5% K=V, ...`. Returns `None` for other lines.
fn choice(text: &str, line: &Line, graph: &Graph) -> Result<Option<Trial>, String> {
    let Some((left, right)) = text.split_once(" ms ") else {
        return Ok(None);
    };
    let mut words = left.split_whitespace().rev();
    let (Some(cell), Some(name)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let Some(number) = Number::parse(cell) else {
        return Ok(None);
    };
    let marker = "<DIVIDED BY ZERO ERROR>";
    let (percent, pairs) = match right.strip_prefix(marker) {
        Some(rest) => (marker, rest),
        None => right.split_once(' ').unwrap_or((right, "")),
    };
    if percent != marker && !percent.ends_with('%') {
        return Ok(None);
    }
    let mut trial = Trial::at(line.number, line.bytes.clone());
    trial.graph = graph.clone();
    // The number behind a template's name changes from run to run: it is no part of the configuration.
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let is_template = name.starts_with("triton_") && stem.ends_with('_');
    let choice = if is_template {
        stem.trim_end_matches('_')
    } else {
        name
    };
    trial
        .configuration
        .push(("choice".to_owned(), Value::text(choice)));
    trial
        .configuration
        .extend(parse_pairs(pairs.trim().trim_start_matches('%').trim())?);
    trial.graph.parameters = trial
        .configuration
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    trial
        .attributes
        .push(("name".to_owned(), Value::text(name)));
    trial
        .attributes
        .push(("percent".to_owned(), Value::text(percent)));
    match Time::new(number, TimeUnit::Milliseconds) {
        Some(time) => trial.time = Some(time),
        None => trial.fail(FailureKind::Unknown, cell),
    }
    Ok(Some(trial))
}

/// Parses the last line of a block: seconds of benchmarking, of precompiling and of prescreening, and the number of
/// choices. Operator and sizes are those of the block.
fn footer(text: &str, graph: Option<&Graph>) -> Value {
    let mut fields = vec![("text".to_owned(), Value::text(text.trim()))];
    if let Some(graph) = graph {
        let kernel = graph.kernel.as_ref().map(|kernel| kernel.name.as_str());
        fields.push((
            "operator".to_owned(),
            Value::text(kernel.unwrap_or_default()),
        ));
        let sizes = graph.problem.iter().find(|(name, _)| name == "sizes");
        fields.extend(sizes.cloned());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    for window in words.windows(3) {
        let name = match window {
            ["takes", _, "seconds"] => "benchmarking_s",
            [_, "seconds", "precompiling"] => "precompiling_s",
            [_, "seconds", "prescreening"] => "prescreening_s",
            ["for", _, "choices"] => "choices",
            _ => continue,
        };
        let at = usize::from(matches!(name, "benchmarking_s" | "choices"));
        let word = window.get(at).copied().unwrap_or_default();
        fields.push((name.to_owned(), Value::from_cell(word)));
    }
    Value::Object(fields)
}

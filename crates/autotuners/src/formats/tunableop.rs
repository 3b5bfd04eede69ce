//! Results of PyTorch TunableOp: the winner of each operator and size.

use std::collections::HashSet;

use crate::document::{Coverage, Document};
use crate::format::Format;
use crate::model::{FailureKind, Origin, Sourced, Trial};
use crate::output::Output;
use crate::quantity::{Time, TimeUnit};
use crate::text::{Line, split_cells};
use crate::value::Value;

use super::rows::{LineFormat, number};

/// Reads results.
#[derive(Default)]
pub(super) struct Results {
    seen: HashSet<(String, String)>,
}

pub(super) fn document() -> Document {
    Document::new(Format::TunableOp, Coverage::Winners)
}

impl LineFormat for Results {
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String> {
        let cells = split_cells(text.as_bytes())?;
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let (operator, parameters, solution, time) = match cells.as_slice() {
            ["Validator", name, value] => {
                output.setting(name, Value::text(*value));
                if *name == "GCN_ARCH_NAME" {
                    output.document.device = Some(Sourced {
                        name: (*value).to_owned(),
                        origin: Origin::File,
                    });
                }
                return Ok(());
            }
            [operator, parameters, solution] => (*operator, *parameters, *solution, None),
            [operator, parameters, solution, time] => {
                (*operator, *parameters, *solution, Some(*time))
            }
            _ => return Err(format!("{} cells, expected 3 or 4", cells.len())),
        };
        let key = (operator.to_owned(), parameters.to_owned());
        if !self.seen.insert(key) {
            return Err(format!(
                "`{operator},{parameters}` occurs twice; the first one counts"
            ));
        }
        let mut trial = Trial::at(line.number, line.bytes.clone());
        trial.graph.kernel = Some(Sourced {
            name: operator.to_owned(),
            origin: Origin::File,
        });
        trial
            .graph
            .problem
            .push(("params".to_owned(), Value::text(parameters)));
        trial.graph.parameters.push("solution".to_owned());
        trial
            .configuration
            .push(("solution".to_owned(), Value::text(solution)));
        let Some(cell) = time else {
            trial.unmeasured("no time");
            output.trial(trial);
            return Ok(());
        };
        let value = number("time", cell)?;
        if value.value() == 0.0 {
            trial.unmeasured(cell);
        } else if let Some(time) = Time::new(value, TimeUnit::Milliseconds) {
            trial.time = Some(time);
        } else {
            trial.fail(FailureKind::Unknown, cell);
        }
        output.trial(trial);
        Ok(())
    }
}

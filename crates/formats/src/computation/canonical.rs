//! Canonical text of a computation. The order and the names of its stages depend only on the computation.

use std::collections::HashMap;

use ahash::RandomState;

use super::stage::Tensors;
use crate::tvm_json::{Error, StepBudget, post_order};

/// Mark before the node index of a tensor in the text of a stage.
const TENSOR_MARK: char = '@';

/// Stages as read. Tensors are identified by their node indices.
#[derive(Debug)]
pub(super) struct Stages {
    /// Node indices of the output tensors, in order.
    pub(super) outputs: Vec<usize>,
    /// Texts of the computed tensors by node index.
    pub(super) texts: HashMap<usize, String, RandomState>,
    /// All tensors by node index.
    pub(super) tensors: Tensors,
}

/// Splits a text at its tensor references. Each piece comes with the node index before it; the first piece has none.
fn split_at_tensors(text: &str) -> impl Iterator<Item = (Option<usize>, &str)> {
    text.split(TENSOR_MARK).map(|piece| {
        let end = piece.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = piece.split_at(end.unwrap_or(piece.len()));
        (digits.parse().ok(), rest)
    })
}

/// Returns the node indices of the tensors that a text reads from, each once, in order.
pub(super) fn tensors_read(text: &str) -> Vec<usize> {
    let mut indexes: Vec<usize> = Vec::new();
    let mut known_indexes = std::collections::HashSet::<usize, RandomState>::default();
    for index in split_at_tensors(text)
        .skip(1)
        .filter_map(|(index, _)| index)
    {
        if known_indexes.insert(index) {
            indexes.push(index);
        }
    }
    indexes
}

impl Stages {
    /// Returns the canonical text of all stages that the outputs depend on. It has one line per input (`in0`, `in1`,
    /// ... in the order in which the stages first read them), one line per stage (`s0`, `s1`, ... each after the stages
    /// it reads from), and one line with the outputs.
    ///
    /// # Errors
    /// Returns an error if there is no output.
    pub(super) fn canonical_text(&self, budget: &mut StepBudget) -> Result<String, Error> {
        if self.outputs.is_empty() {
            return Err(Error::wrong("nothing is computed"));
        }
        let inputs_of = |index| {
            Ok(self
                .texts
                .get(&index)
                .map(|text| tensors_read(text))
                .unwrap_or_default())
        };
        let order = post_order(&self.outputs, inputs_of, budget)?;
        let mut names: HashMap<usize, String, RandomState> = HashMap::default();
        let computed = order.iter().filter(|index| self.texts.contains_key(index));
        for (number, &index) in computed.clone().enumerate() {
            names.insert(index, format!("s{number}"));
        }
        let (mut inputs, mut stages) = (String::new(), String::new());
        let mut count = 0;
        for index in computed {
            let text = self.texts.get(index).map_or("", String::as_str);
            stages.push_str(names.get(index).map_or("", String::as_str));
            stages.push_str(": ");
            for (number, (index, rest)) in split_at_tensors(text).enumerate() {
                if number > 0 {
                    let tensor = index.and_then(|index| Some((index, self.tensors.get(&index)?)));
                    let (index, tensor) = tensor.ok_or_else(|| Error::wrong("no such tensor"))?;
                    let name = names.entry(index).or_insert_with(|| {
                        let name = format!("in{count}");
                        inputs.push_str(&format!("{name}: {}\n", tensor.text()));
                        count += 1;
                        name
                    });
                    stages.push_str(name);
                }
                stages.push_str(rest);
            }
            stages.push('\n');
        }
        let outputs = self.outputs.iter().filter_map(|index| names.get(index));
        let outputs: Vec<&str> = outputs.map(String::as_str).collect();
        Ok(format!("{inputs}{stages}out: {}\n", outputs.join(", ")))
    }
}

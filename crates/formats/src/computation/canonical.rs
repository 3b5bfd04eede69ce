//! The text of a computation: its stages in an order and by names that depend on nothing but what is computed.

use std::collections::HashMap;

use ahash::RandomState;

use super::stage::Tensors;
use crate::tvm_json::{Budget, Error, post_order};

/// What stands before the place of a tensor in the text of a stage.
const PLACE: char = '@';

/// Stages as they were read: tensors go by their places in the graph.
#[derive(Debug)]
pub(super) struct Stages {
    /// The tensors that come out, in order.
    pub(super) outputs: Vec<usize>,
    /// The texts of those that are computed.
    pub(super) texts: HashMap<usize, String, RandomState>,
    /// All tensors.
    pub(super) tensors: Tensors,
}

/// A text between places of tensors, each with the place before it: the first has none.
fn pieces(text: &str) -> impl Iterator<Item = (Option<usize>, &str)> {
    text.split(PLACE).map(|piece| {
        let end = piece.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = piece.split_at(end.unwrap_or(piece.len()));
        (digits.parse().ok(), rest)
    })
}

/// The places of the tensors that a text reads from, each once, in its order.
pub(super) fn read_from(text: &str) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    let mut known = std::collections::HashSet::<usize, RandomState>::default();
    for place in pieces(text).skip(1).filter_map(|(place, _)| place) {
        if known.insert(place) {
            places.push(place);
        }
    }
    places
}

impl Stages {
    /// The text of all that leads to what comes out: a line for each tensor that goes in, `in0`, `in1`, ... in
    /// the order in which stages read them first; one for each stage, `s0`, `s1`, ..., after those that it reads
    /// from; and one that says what comes out.
    ///
    /// # Errors
    /// Nothing comes out.
    pub(super) fn text(&self, budget: &mut Budget) -> Result<String, Error> {
        if self.outputs.is_empty() {
            return Err(Error::wrong("nothing is computed"));
        }
        let computed = |place| {
            Ok(self
                .texts
                .get(&place)
                .map(|text| read_from(text))
                .unwrap_or_default())
        };
        let order = post_order(&self.outputs, computed, budget)?;
        let mut names: HashMap<usize, String, RandomState> = HashMap::default();
        let computed = order.iter().filter(|place| self.texts.contains_key(place));
        for (number, &place) in computed.clone().enumerate() {
            names.insert(place, format!("s{number}"));
        }
        let (mut inputs, mut stages) = (String::new(), String::new());
        let mut count = 0;
        for place in computed {
            let text = self.texts.get(place).map_or("", String::as_str);
            stages.push_str(names.get(place).map_or("", String::as_str));
            stages.push_str(": ");
            for (number, (place, rest)) in pieces(text).enumerate() {
                if number > 0 {
                    let tensor = place.and_then(|place| Some((place, self.tensors.get(&place)?)));
                    let (place, tensor) = tensor.ok_or_else(|| Error::wrong("no such tensor"))?;
                    let name = names.entry(place).or_insert_with(|| {
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
        let outputs = self.outputs.iter().filter_map(|place| names.get(place));
        let outputs: Vec<&str> = outputs.map(String::as_str).collect();
        Ok(format!("{inputs}{stages}out: {}\n", outputs.join(", ")))
    }
}

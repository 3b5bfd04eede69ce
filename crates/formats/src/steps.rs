//! Splits the steps of configurations into a sketch and the parameters that fill its holes.

use std::collections::HashMap;

use ahash::RandomState;
use tsql_codecs::json;
use tsql_codecs::sketch::{self, Scan, SketchTrie};
use tsql_codecs::varint;

use crate::rows::Sketch;

/// Reader of steps. Its accessors refer to the steps that were read last.
#[derive(Default)]
pub(crate) struct StepReader {
    sketch_trie: SketchTrie,
    /// Index of the sketch of the steps, if the sketch is known.
    known_sketch: Option<u32>,
    /// Scan of the steps, if the sketch is new.
    scan: Scan,
    /// Steps in TVM's spelling, if they have another one.
    respelled: Option<Vec<u8>>,
    /// Packed parameters; empty for a literal sketch.
    params: Vec<u8>,
    /// Steps rebuilt from sketch and parameters.
    filled: Vec<u8>,
    /// Indices of open and literal sketches.
    sketch_indexes: [HashMap<Vec<u8>, u32, RandomState>; 2],
}

impl StepReader {
    /// Reads the list of TVM transform steps at the start of `text` and returns its length in bytes.
    ///
    /// # Errors
    /// Returns a user-readable description of the syntax error.
    pub(crate) fn read(&mut self, text: &[u8]) -> Result<usize, String> {
        self.params.clear();
        self.respelled = None;
        if let Some((index, length)) = self.sketch_trie.read(text, &mut self.params) {
            self.known_sketch = Some(index);
            return Ok(length);
        }
        self.known_sketch = None;
        let length = sketch::scan(text, &mut self.scan)?;
        if self.scan.respell {
            let respelled = json::normalize_spacing(text.get(..length).unwrap_or(text));
            sketch::scan(&respelled, &mut self.scan)?;
            self.respelled = Some(respelled);
        }
        self.pack();
        Ok(length)
    }

    /// Reads steps that are any JSON, with the spacing of Python, or any text.
    pub(crate) fn read_values(&mut self, steps: &str) {
        self.params.clear();
        self.respelled = None;
        let text = steps.as_bytes();
        let parsed = self.sketch_trie.read(text, &mut self.params);
        let known_sketch = parsed.filter(|(_, length)| *length == text.len());
        self.known_sketch = known_sketch.map(|(index, _)| index);
        if known_sketch.is_some() {
            return;
        }
        self.params.clear();
        let is_json = steps.starts_with(['{', '[']);
        let scanned = is_json && sketch::scan_values(text, &mut self.scan).is_ok();
        self.scan.literal |= !scanned || self.scan.respell;
        self.pack();
    }

    fn pack(&mut self) {
        if !self.scan.literal {
            let numbers = self.scan.numbers.iter();
            numbers.for_each(|&number| varint::write_unsigned(number, &mut self.params));
        }
    }

    /// Returns the steps in TVM's spelling; `steps` are the steps of the line.
    pub(crate) fn tvm_spelling<'t>(&'t self, steps: &'t [u8]) -> &'t [u8] {
        self.respelled.as_deref().unwrap_or(steps)
    }

    /// Packed parameters; empty for a literal sketch.
    pub(crate) fn params(&self) -> &[u8] {
        &self.params
    }

    /// Whether sketch and parameters reproduce the steps.
    pub(crate) fn is_reproduced(&mut self, steps: &[u8]) -> bool {
        // A known sketch was already compared with all text between the numbers.
        self.known_sketch.is_some() || self.scan.literal || {
            self.filled.clear();
            let params = Some(self.params.as_slice());
            sketch::fill(&self.scan.sketch, params, &mut self.filled)
                && self.filled == self.respelled.as_deref().unwrap_or(steps)
        }
    }

    /// Returns the index of the sketch in `sketches`; a new sketch is appended.
    pub(crate) fn sketch_index(&mut self, steps: &[u8], sketches: &mut Vec<Sketch>) -> u32 {
        if let Some(index) = self.known_sketch {
            return index;
        }
        let literal = self.scan.literal;
        let text = if literal {
            self.respelled.as_deref().unwrap_or(steps)
        } else {
            &self.scan.sketch
        };
        let [open_indexes, literal_indexes] = &mut self.sketch_indexes;
        let indexes = if literal {
            literal_indexes
        } else {
            open_indexes
        };
        if let Some(&index) = indexes.get(text) {
            return index;
        }
        let index = u32::try_from(sketches.len()).unwrap_or(u32::MAX);
        indexes.insert(text.to_vec(), index);
        sketches.push(Sketch {
            text: text.to_vec(),
            literal,
        });
        if !literal && self.respelled.is_none() {
            self.sketch_trie.insert(&self.scan, index);
        }
        index
    }
}

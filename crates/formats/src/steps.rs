//! What the configurations of a chunk chose: each as its sketch and the numbers that fill it.

use std::collections::HashMap;

use ahash::RandomState;
use tsql_codecs::json;
use tsql_codecs::sketch::{self, Scan, Seen};
use tsql_codecs::varint;

use crate::rows::Sketch;

/// Reads the steps of one after the other; says of the last ones what they are.
#[derive(Default)]
pub(crate) struct Steps {
    seen: Seen,
    /// Their sketch, where that was seen before.
    known: Option<u32>,
    /// What was found in them where it was not.
    scan: Scan,
    /// They in TVM's spelling, where they have another one.
    respelled: Option<Vec<u8>>,
    /// Their numbers, packed; none of a literal sketch.
    params: Vec<u8>,
    /// They as sketch and numbers give them.
    filled: Vec<u8>,
    /// Open and literal sketches.
    places: [HashMap<Vec<u8>, u32, RandomState>; 2],
}

impl Steps {
    /// Reads the list of TVM's transform steps at the start of `text`; returns its length in bytes.
    ///
    /// # Errors
    /// What is wrong with the text, for people.
    pub(crate) fn read(&mut self, text: &[u8]) -> Result<usize, String> {
        self.params.clear();
        self.respelled = None;
        if let Some((place, length)) = self.seen.read(text, &mut self.params) {
            self.known = Some(place);
            return Ok(length);
        }
        self.known = None;
        let length = sketch::scan(text, &mut self.scan)?;
        if self.scan.respell {
            let respelled = json::spaced(text.get(..length).unwrap_or(text));
            sketch::scan(&respelled, &mut self.scan)?;
            self.respelled = Some(respelled);
        }
        self.pack();
        Ok(length)
    }

    /// Reads steps that are any JSON, with spaces as Python writes it, or any text.
    pub(crate) fn read_values(&mut self, steps: &str) {
        self.params.clear();
        self.respelled = None;
        let text = steps.as_bytes();
        let seen = self.seen.read(text, &mut self.params);
        let known = seen.filter(|(_, length)| *length == text.len());
        self.known = known.map(|(place, _)| place);
        if known.is_some() {
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

    /// They in TVM's spelling; `steps` are they as they stand on the line.
    pub(crate) fn spelled<'t>(&'t self, steps: &'t [u8]) -> &'t [u8] {
        self.respelled.as_deref().unwrap_or(steps)
    }

    /// Their numbers, packed; none of a literal sketch.
    pub(crate) fn params(&self) -> &[u8] {
        &self.params
    }

    /// Do sketch and numbers give them?
    pub(crate) fn is_given_back(&mut self, steps: &[u8]) -> bool {
        // A sketch that was seen was compared with all that stands between the numbers.
        self.known.is_some() || self.scan.literal || {
            self.filled.clear();
            let params = Some(self.params.as_slice());
            sketch::fill(&self.scan.sketch, params, &mut self.filled)
                && self.filled == self.respelled.as_deref().unwrap_or(steps)
        }
    }

    /// The place of their sketch in `sketches`, where it is put if it is new.
    pub(crate) fn place(&mut self, steps: &[u8], sketches: &mut Vec<Sketch>) -> u32 {
        if let Some(place) = self.known {
            return place;
        }
        let literal = self.scan.literal;
        let text = if literal {
            self.respelled.as_deref().unwrap_or(steps)
        } else {
            &self.scan.sketch
        };
        let [open, closed] = &mut self.places;
        let places = if literal { closed } else { open };
        if let Some(&place) = places.get(text) {
            return place;
        }
        let place = u32::try_from(sketches.len()).unwrap_or(u32::MAX);
        places.insert(text.to_vec(), place);
        sketches.push(Sketch {
            text: text.to_vec(),
            literal,
        });
        if !literal && self.respelled.is_none() {
            self.seen.remember(&self.scan, place);
        }
        place
    }
}

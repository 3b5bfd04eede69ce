//! Configurations as text and as hashes, whichever kind of sketch they have.

use crate::identity::ProgramHash;
use crate::layout::{self, LayoutHasher, Layouts};
use crate::sketch;

/// Writes the steps of configurations; remembers the layouts of the one before.
#[derive(Debug, Default)]
pub struct Filler {
    last: Option<(String, Layouts)>,
}

impl Filler {
    /// Appends the steps as text; false where the parameters do not fit the sketch.
    pub fn fill(&mut self, sketch: &str, params: Option<&[u8]>, text: &mut Vec<u8>) -> bool {
        if !layout::is_layout(sketch) {
            return sketch::fill(sketch.as_bytes(), params, text);
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != sketch) {
            self.last = Layouts::parse(sketch).map(|layouts| (sketch.to_owned(), layouts));
        }
        let layouts = self.last.as_ref().map(|(_, layouts)| layouts);
        let filled = layouts
            .zip(params)
            .map(|(layouts, params)| layouts.write_steps(params, text));
        filled.unwrap_or(false)
    }
}

/// Hashes configurations; remembers the layouts of the one before.
#[derive(Debug, Default)]
pub struct Hasher {
    last: Option<(String, LayoutHasher)>,
    text: Vec<u8>,
}

impl Hasher {
    /// What tells the configuration apart from the others of its graph; `None` where its
    /// parameters do not fit its sketch.
    pub fn hash(&mut self, sketch: &str, params: Option<&[u8]>) -> Option<ProgramHash> {
        if !layout::is_layout(sketch) {
            self.text.clear();
            return sketch::fill(sketch.as_bytes(), params, &mut self.text)
                .then(|| ProgramHash::of(&self.text));
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != sketch) {
            let layouts = Layouts::parse(sketch)?;
            self.last = Some((sketch.to_owned(), layouts.hasher()));
        }
        let (_, hasher) = self.last.as_ref()?;
        hasher.hash(params?)
    }
}

/// The sketch of a configuration with parameters as it is shown: with a hole for every number, whatever
/// it has in common with those that it was packed with.
pub fn open(sketch: &str) -> String {
    if layout::is_layout(sketch) {
        return sketch.to_owned();
    }
    let mut text = Vec::with_capacity(sketch.len());
    sketch::open(sketch.as_bytes(), &mut text, |_| {});
    String::from_utf8_lossy(&text).into_owned()
}

/// Lists the numbers of configurations; remembers the layouts of the one before.
#[derive(Debug, Default)]
pub struct Numbers {
    last: Option<(String, Layouts)>,
    text: Vec<u8>,
}

impl Numbers {
    /// What fills the holes of the sketch as [`open`] shows it, or the code of each group of layouts;
    /// `None` where the parameters do not fit.
    pub fn of(&mut self, sketch: &str, params: &[u8]) -> Option<Vec<i64>> {
        if !layout::is_layout(sketch) {
            self.text.clear();
            return sketch::numbers(sketch.as_bytes(), params, &mut self.text);
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != sketch) {
            self.last = Some((sketch.to_owned(), Layouts::parse(sketch)?));
        }
        let (_, layouts) = self.last.as_ref()?;
        let codes = layouts.codes(params)?.into_iter();
        codes.map(|code| i64::try_from(code).ok()).collect()
    }
}

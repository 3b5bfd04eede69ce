//! Configurations as text and as hashes, whichever kind of sketch they have.

use crate::identity::ProgramHash;
use crate::layout::{self, LayoutHasher, Layouts};
use crate::sketch;

/// Writes the steps of configurations; remembers the layouts of the one before.
#[derive(Debug, Default)]
pub(crate) struct Filler {
    last: Option<(String, Layouts)>,
}

impl Filler {
    /// Appends the steps as text; false where the parameters do not fit the sketch.
    pub(crate) fn fill(&mut self, sketch: &str, params: Option<&[u8]>, text: &mut Vec<u8>) -> bool {
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
pub(crate) struct Hasher {
    last: Option<(String, LayoutHasher)>,
    text: Vec<u8>,
}

impl Hasher {
    /// What tells the configuration apart from the others of its graph; `None` where its
    /// parameters do not fit its sketch.
    pub(crate) fn hash(&mut self, sketch: &str, params: Option<&[u8]>) -> Option<ProgramHash> {
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

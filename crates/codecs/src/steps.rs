//! Steps of configurations as text and as hashes, for both kinds of sketch.

use crate::identity::ProgramHash;
use crate::layout::{self, LayoutHasher, Layouts};
use crate::sketch;

/// Writes the steps of configurations. Caches the layouts of the previous one.
#[derive(Debug, Default)]
pub struct StepsWriter {
    last: Option<(String, Layouts)>,
}

impl StepsWriter {
    /// Appends the steps as text. Returns false if the parameters do not fit the sketch.
    pub fn fill(&mut self, sketch: &str, params: Option<&[u8]>, text: &mut Vec<u8>) -> bool {
        if !layout::is_layout(sketch) {
            return sketch::fill(sketch.as_bytes(), params, text);
        }
        if self
            .last
            .as_ref()
            .is_none_or(|(cached_sketch, _)| cached_sketch != sketch)
        {
            self.last = Layouts::parse(sketch).map(|layouts| (sketch.to_owned(), layouts));
        }
        let layouts = self.last.as_ref().map(|(_, layouts)| layouts);
        let filled = layouts
            .zip(params)
            .map(|(layouts, params)| layouts.write_steps(params, text));
        filled.unwrap_or(false)
    }
}

/// Hashes configurations. Caches the layouts of the previous one.
#[derive(Debug, Default)]
pub struct StepsHasher {
    last: Option<(String, LayoutHasher)>,
    text: Vec<u8>,
}

impl StepsHasher {
    /// Hash that identifies a configuration within its graph. Returns `None` if its parameters do not fit
    /// its sketch.
    pub fn hash(&mut self, sketch: &str, params: Option<&[u8]>) -> Option<ProgramHash> {
        if !layout::is_layout(sketch) {
            self.text.clear();
            return sketch::fill(sketch.as_bytes(), params, &mut self.text)
                .then(|| ProgramHash::from_steps(&self.text));
        }
        if self
            .last
            .as_ref()
            .is_none_or(|(cached_sketch, _)| cached_sketch != sketch)
        {
            let layouts = Layouts::parse(sketch)?;
            self.last = Some((sketch.to_owned(), layouts.hasher()));
        }
        let (_, hasher) = self.last.as_ref()?;
        hasher.hash(params?)
    }
}

/// Sketch for display: every number is a hole, even if the stored sketch has it written in.
pub fn open_sketch(sketch: &str) -> String {
    if layout::is_layout(sketch) {
        return sketch.to_owned();
    }
    let mut text = Vec::with_capacity(sketch.len());
    sketch::open_holes(sketch.as_bytes(), &mut text, |_| {});
    String::from_utf8_lossy(&text).into_owned()
}

/// Lists the numbers of configurations. Caches the layouts of the previous one.
#[derive(Debug, Default)]
pub struct StepsNumbers {
    last: Option<(String, Layouts)>,
    text: Vec<u8>,
}

impl StepsNumbers {
    /// Values of the holes of [`open_sketch`], or the code of each layout group. Returns `None` if the
    /// parameters do not fit.
    pub fn list(&mut self, sketch: &str, params: &[u8]) -> Option<Vec<i64>> {
        if !layout::is_layout(sketch) {
            self.text.clear();
            return sketch::hole_numbers(sketch.as_bytes(), params, &mut self.text);
        }
        if self
            .last
            .as_ref()
            .is_none_or(|(cached_sketch, _)| cached_sketch != sketch)
        {
            self.last = Some((sketch.to_owned(), Layouts::parse(sketch)?));
        }
        let (_, layouts) = self.last.as_ref()?;
        let codes = layouts.codes(params)?.into_iter();
        codes.map(|code| i64::try_from(code).ok()).collect()
    }
}

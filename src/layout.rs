//! Layout configurations: what a compiler chose for every configurable node, in a byte or so each
//! for *groups* of nodes.
//!
//! A row of `node_config_feat` holds, for each configurable node (*slot*), 18 numbers: the layouts
//! of its output, input and kernel, minor to major, padded with -1. XLA's autotuner gives
//! equivalent nodes the same layouts, so whole columns of that array are equal: slots fall into
//! groups, a group knows few distinct vectors, and a configuration is one code for each group.
//! The grouping is found in the data and costs nothing where there is none.
//!
//! As text, which is the *sketch* of such configurations:
//!
//! ```text
//! {"group_of_slot":[0,1,0],"layouts":[["1 0|0 1|","0 1|0 1|"],["3 2 1 0|0|"]]}
//!                   slots 0 and 2 together,  two codes of group 0, one of group 1
//! ```

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::identity::ProgramHash;

/// Numbers of a slot: three layouts of six dimensions.
pub(crate) const VECTOR_WIDTH: usize = 18;

/// Dimensions of a layout.
const DIMENSIONS: usize = 6;

/// In place of a dimension: there is none, or the compiler decides.
const NONE: i8 = -1;

/// Layouts of one slot.
pub(crate) type Vector = [i8; VECTOR_WIDTH];

/// How sketches of layout configurations begin; those of programs begin with `[`.
const START: &str = "{\"group_of_slot\":";

/// Groups of slots and the vectors that each group knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layouts {
    /// Group of each slot.
    pub(crate) group_of_slot: Vec<u32>,
    /// Vectors of each group; a code is a place in this list.
    pub(crate) vectors: Vec<Vec<Vector>>,
}

/// A [`Layouts`] as it is spelled.
#[derive(Serialize, Deserialize)]
struct Spelled {
    group_of_slot: Vec<u32>,
    layouts: Vec<Vec<String>>,
}

/// Is this the sketch of layout configurations?
pub(crate) fn is_layout(sketch: &str) -> bool {
    sketch.starts_with(START)
}

impl Layouts {
    /// Reads a sketch; `None` where it is none of layouts.
    pub(crate) fn parse(sketch: &str) -> Option<Self> {
        let spelled: Spelled = serde_json::from_str(sketch).ok()?;
        let vectors = spelled.layouts.iter();
        let vectors = vectors.map(|group| group.iter().map(|text| vector(text)).collect());
        let layouts = Self {
            group_of_slot: spelled.group_of_slot,
            vectors: vectors.collect::<Option<Vec<_>>>()?,
        };
        let groups = layouts.vectors.len();
        let known = |group: &u32| (*group as usize) < groups;
        layouts.group_of_slot.iter().all(known).then_some(layouts)
    }

    /// The sketch.
    pub(crate) fn text(&self) -> String {
        let groups = self.vectors.iter();
        let spelled = Spelled {
            group_of_slot: self.group_of_slot.clone(),
            layouts: groups
                .map(|group| group.iter().map(spell).collect())
                .collect(),
        };
        serde_json::to_string(&spelled).unwrap_or_default()
    }

    /// Bytes of a code: one, or two where a group knows more than 256 vectors.
    pub(crate) fn code_width(&self) -> usize {
        let most = self.vectors.iter().map(Vec::len).max();
        if most > Some(256) { 2 } else { 1 }
    }

    /// Bytes of a configuration's codes.
    pub(crate) fn params_length(&self) -> usize {
        self.vectors.len() * self.code_width()
    }

    /// Appends one code in its width, little-endian.
    pub(crate) fn push_code(&self, code: u16, params: &mut Vec<u8>) {
        let bytes = code.to_le_bytes();
        params.extend(bytes.iter().take(self.code_width()));
    }

    /// The codes of a configuration; `None` where there are not as many as groups.
    pub(crate) fn codes<'a>(&self, params: &'a [u8]) -> Option<impl Iterator<Item = usize> + 'a> {
        let width = self.code_width();
        let code = |bytes: &[u8]| {
            let digits = bytes.iter().rev();
            digits.fold(0, |code, &byte| code << 8 | usize::from(byte))
        };
        (params.len() == self.params_length()).then(|| params.chunks_exact(width).map(code))
    }

    /// The vector of each group in a configuration.
    pub(crate) fn chosen<'a>(&'a self, params: &[u8]) -> Option<Vec<&'a Vector>> {
        let codes = self.codes(params)?;
        let groups = self.vectors.iter().zip(codes);
        groups.map(|(vectors, code)| vectors.get(code)).collect()
    }

    /// Appends the vectors of all slots of a configuration: a row of `node_config_feat`. False
    /// where the codes do not fit.
    #[cfg(test)]
    pub(crate) fn expand(&self, params: &[u8], row: &mut Vec<i8>) -> bool {
        let Some(chosen) = self.chosen(params) else {
            return false;
        };
        for &group in &self.group_of_slot {
            let Some(vector) = chosen.get(group as usize) else {
                return false;
            };
            row.extend_from_slice(*vector);
        }
        true
    }

    /// Appends the configuration as a JSON list of the slots' layouts (`"output|input|kernel"`).
    pub(crate) fn write_steps(&self, params: &[u8], text: &mut Vec<u8>) -> bool {
        let Some(chosen) = self.chosen(params) else {
            return false;
        };
        text.push(b'[');
        for (slot, &group) in self.group_of_slot.iter().enumerate() {
            let Some(vector) = chosen.get(group as usize) else {
                return false;
            };
            let separator = if slot == 0 { "\"" } else { ", \"" };
            text.extend_from_slice(separator.as_bytes());
            text.extend_from_slice(spell(vector).as_bytes());
            text.push(b'"');
        }
        text.push(b']');
        true
    }

    /// What tells configurations apart whatever their grouping.
    pub(crate) fn hasher(&self) -> LayoutHasher {
        let mut sums: Vec<Vec<ProgramHash>> = self
            .vectors
            .iter()
            .map(|group| vec![ProgramHash::default(); group.len()])
            .collect();
        for (slot, &group) in (0..).zip(&self.group_of_slot) {
            let group = group as usize;
            let vectors = self.vectors.get(group).map_or(&[][..], Vec::as_slice);
            let sums = sums.get_mut(group).into_iter().flatten();
            for (sum, vector) in sums.zip(vectors) {
                *sum = sum.plus(ProgramHash::of_slot(slot, &vector.map(i8::cast_unsigned)));
            }
        }
        LayoutHasher {
            width: self.code_width(),
            sums,
        }
    }
}

/// Layouts that know all vectors of several, so that configurations of all can be told by the same
/// codes.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) layouts: Layouts,
    /// For each of the merged ones and each new group: the old group, and new codes by old ones.
    translations: Vec<Vec<(usize, Vec<u16>)>>,
}

impl Merged {
    /// Merges layouts of the same slots. Slots stay together where they are in all of them.
    pub(crate) fn of(all: &[&Layouts]) -> Self {
        let slots = all.first().map_or(0, |first| first.group_of_slot.len());
        let mut groups: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut layouts = Layouts::default();
        let mut translations = vec![Vec::new(); all.len()];
        for slot in 0..slots {
            let of_slot = |one: &&Layouts| one.group_of_slot.get(slot).copied();
            let key: Vec<u32> = all.iter().filter_map(of_slot).collect();
            let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
            let group = *groups.entry(key.clone()).or_insert(next);
            layouts.group_of_slot.push(group);
            if group != next {
                continue;
            }
            let mut codes: HashMap<Vector, u16> = HashMap::new();
            let mut vectors = Vec::new();
            for ((one, old), translation) in all.iter().zip(&key).zip(&mut translations) {
                let old = *old as usize;
                let known = one.vectors.get(old).map_or(&[][..], Vec::as_slice);
                let code = |vector: &Vector| {
                    let next = u16::try_from(vectors.len()).unwrap_or(u16::MAX);
                    *codes.entry(*vector).or_insert_with(|| {
                        vectors.push(*vector);
                        next
                    })
                };
                translation.push((old, known.iter().map(code).collect()));
            }
            layouts.vectors.push(vectors);
        }
        Self {
            layouts,
            translations,
        }
    }

    /// Appends the new codes of a configuration of the `which`-th of the merged layouts; `None`
    /// where its codes do not fit.
    pub(crate) fn translate(
        &self,
        which: usize,
        old: impl Iterator<Item = usize>,
        params: &mut Vec<u8>,
    ) -> Option<()> {
        let old: Vec<usize> = old.collect();
        for (group, codes) in self.translations.get(which)? {
            let code = *codes.get(*old.get(*group)?)?;
            self.layouts.push_code(code, params);
        }
        Some(())
    }
}

/// Hashes configurations by their codes: the hash of a configuration is the sum of the hashes of
/// its slots, so that files with other groups give the same.
#[derive(Debug)]
pub(crate) struct LayoutHasher {
    width: usize,
    sums: Vec<Vec<ProgramHash>>,
}

impl LayoutHasher {
    /// The hash of a configuration; `None` where its codes do not fit.
    pub(crate) fn hash(&self, params: &[u8]) -> Option<ProgramHash> {
        if params.len() != self.sums.len() * self.width {
            return None;
        }
        let mut hash = ProgramHash::default();
        for (sums, bytes) in self.sums.iter().zip(params.chunks_exact(self.width)) {
            let digits = bytes.iter().rev();
            let code = digits.fold(0, |code, &byte| code << 8 | usize::from(byte));
            hash = hash.plus(*sums.get(code)?);
        }
        Some(hash)
    }
}

/// `1 0|0 1|` for the dimensions of output, input and kernel without their padding.
fn spell(vector: &Vector) -> String {
    let parts = vector.chunks(DIMENSIONS).map(|part| {
        let length = part.iter().rposition(|&dimension| dimension != NONE);
        let dimensions = part.iter().take(length.map_or(0, |last| last + 1));
        let dimensions: Vec<String> = dimensions.map(ToString::to_string).collect();
        dimensions.join(" ")
    });
    parts.collect::<Vec<_>>().join("|")
}

fn vector(text: &str) -> Option<Vector> {
    let mut vector = [NONE; VECTOR_WIDTH];
    let mut parts = text.split('|');
    for slots in vector.chunks_mut(DIMENSIONS) {
        let mut slots = slots.iter_mut();
        for dimension in parts.next()?.split_ascii_whitespace() {
            *slots.next()? = dimension.parse().ok()?;
        }
    }
    parts.next().is_none().then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Layouts {
        let text = r#"{"group_of_slot":[0,1,0],"layouts":[["1 0|0 1|","0 1|0 1|3"],["-1 2||"]]}"#;
        Layouts::parse(text).unwrap()
    }

    #[test]
    fn text_and_layouts_are_the_same() {
        let layouts = sample();
        assert_eq!(Layouts::parse(&layouts.text()).unwrap(), layouts);
        assert!(is_layout(&layouts.text()));
        assert_eq!(layouts.vectors[1][0][..3], [-1, 2, -1]);
        for broken in [
            "",
            "[]",
            r#"{"group_of_slot":[1],"layouts":[["||"]]}"#,
            r#"{"group_of_slot":[0],"layouts":[["|"]]}"#,
            r#"{"group_of_slot":[0],"layouts":[["1 2 3 4 5 6 7||"]]}"#,
        ] {
            assert_eq!(Layouts::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn codes_become_rows() {
        let layouts = sample();
        let mut row = Vec::new();
        assert!(layouts.expand(&[1, 0], &mut row));
        assert_eq!(row.len(), 3 * VECTOR_WIDTH);
        assert_eq!(row[..2], [0, 1]);
        assert_eq!(row[12], 3);
        assert_eq!(row[18..20], [-1, 2]);
        assert_eq!(row[36..], row[..18]);
        let mut text = Vec::new();
        assert!(layouts.write_steps(&[1, 0], &mut text));
        assert_eq!(text, br#"["0 1|0 1|3", "-1 2||", "0 1|0 1|3"]"#);
        for wrong in [&[2, 0][..], &[0, 1], &[0], &[0, 0, 0]] {
            assert!(!layouts.expand(wrong, &mut row), "{wrong:?}");
            assert_eq!(layouts.hasher().hash(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_hash_does_not_depend_on_the_groups() {
        let grouped = sample();
        let single = Layouts {
            group_of_slot: vec![2, 1, 0],
            vectors: vec![
                grouped.vectors[0].clone(),
                grouped.vectors[1].clone(),
                grouped.vectors[0].clone(),
            ],
        };
        assert_eq!(
            grouped.hasher().hash(&[1, 0]),
            single.hasher().hash(&[1, 0, 1])
        );
        assert_ne!(
            grouped.hasher().hash(&[0, 0]),
            single.hasher().hash(&[1, 0, 1])
        );
    }

    #[test]
    fn merged_layouts_know_the_configurations_of_all() {
        let (a, b) = (
            sample(),
            Layouts::parse(
                r#"{"group_of_slot":[0,1,1],"layouts":[["3||","0 1|0 1|3"],["-1 2||","3||"]]}"#,
            )
            .unwrap(),
        );
        let merged = Merged::of(&[&a, &b]);
        assert_eq!(merged.layouts.group_of_slot, [0, 1, 2]);
        for (which, layouts, params) in [(0, &a, [1, 0]), (0, &a, [0, 0]), (1, &b, [1, 0])] {
            let (mut translated, mut wanted, mut found) = (Vec::new(), Vec::new(), Vec::new());
            let codes = layouts.codes(&params).unwrap();
            merged.translate(which, codes, &mut translated).unwrap();
            assert!(layouts.expand(&params, &mut wanted));
            assert!(merged.layouts.expand(&translated, &mut found));
            assert_eq!(found, wanted);
        }
        let alone = Merged::of(&[&a]);
        assert_eq!(alone.layouts, a);
    }

    #[test]
    fn many_vectors_take_two_bytes() {
        let vectors = (0..300_i16).map(|n| {
            let mut vector = [NONE; VECTOR_WIDTH];
            vector[0] = i8::try_from(n % 100).unwrap();
            vector[1] = i8::try_from(n / 100).unwrap();
            vector
        });
        let layouts = Layouts {
            group_of_slot: vec![0],
            vectors: vec![vectors.collect()],
        };
        let (mut params, mut row) = (Vec::new(), Vec::new());
        layouts.push_code(258, &mut params);
        assert_eq!(params, [2, 1]);
        assert!(layouts.expand(&params, &mut row));
        assert_eq!(row[..2], [58, 2]);
        assert!(layouts.hasher().hash(&params).is_some());
    }
}

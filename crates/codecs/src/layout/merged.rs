//! Merging of several layouts of the same slots.

use std::collections::HashMap;

use super::{Layouts, Vector};

/// Layouts with the vectors of several others, so that all their configurations can be expressed in the
/// same codes.
#[derive(Debug)]
pub struct MergedLayouts {
    /// The merged layouts.
    pub layouts: Layouts,
    /// For each input and each new group: the old group, and the new code for each old one.
    translations: Vec<Vec<(usize, Vec<u16>)>>,
}

impl MergedLayouts {
    /// Merges layouts of the same slots. Two slots are in one group if they are in one group in all inputs.
    pub fn merge(all: &[&Layouts]) -> Self {
        let slots = all.first().map_or(0, |first| first.group_of_slot.len());
        let mut groups: HashMap<Vec<u32>, u32> = HashMap::new();
        let (mut group_of_slot, mut new) = (Vec::with_capacity(slots), Vec::new());
        let mut translations = vec![Vec::new(); all.len()];
        for slot in 0..slots {
            let group_of = |input: &&Layouts| input.group_of_slot.get(slot).copied();
            let key: Vec<u32> = all.iter().filter_map(group_of).collect();
            let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
            let group = *groups.entry(key.clone()).or_insert(next);
            group_of_slot.push(group);
            if group != next {
                continue;
            }
            let mut codes: HashMap<Vector, u16> = HashMap::new();
            let mut vectors = Vec::new();
            for ((input, old), translation) in all.iter().zip(&key).zip(&mut translations) {
                let old = *old as usize;
                let old_vectors = input.vectors.get(old).map_or(&[][..], Vec::as_slice);
                let code = |vector: &Vector| {
                    let next = u16::try_from(vectors.len()).unwrap_or(u16::MAX);
                    *codes.entry(*vector).or_insert_with(|| {
                        vectors.push(*vector);
                        next
                    })
                };
                translation.push((old, old_vectors.iter().map(code).collect()));
            }
            new.push(vectors);
        }
        Self {
            layouts: Layouts::new(group_of_slot, new),
            translations,
        }
    }

    /// Translates a configuration of the `which`-th input and appends its new codes. Returns `None` if its
    /// codes do not fit.
    pub fn translate(&self, which: usize, old: &[usize], params: &mut Vec<u8>) -> Option<()> {
        let groups = self.translations.get(which)?.iter();
        let codes = groups.map(|(group, codes)| codes.get(*old.get(*group)?).copied());
        self.layouts
            .push(&codes.collect::<Option<Vec<_>>>()?, params);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_layouts_express_all_configurations() {
        let (a, b) = (
            Layouts::parse(
                r#"{"group_of_slot":[0,1,0],"layouts":[["1 0|0 1|","0 1|0 1|3"],["-1 2||"]]}"#,
            )
            .unwrap(),
            Layouts::parse(
                r#"{"group_of_slot":[0,1,1],"layouts":[["3||","0 1|0 1|3"],["-1 2||","3||"]]}"#,
            )
            .unwrap(),
        );
        let merged = MergedLayouts::merge(&[&a, &b]);
        assert_eq!(merged.layouts.group_of_slot, [0, 1, 2]);
        for (which, layouts, params) in [(0, &a, [1, 0]), (0, &a, [0, 0]), (1, &b, [1, 0])] {
            let (mut translated, mut expected, mut actual) = (Vec::new(), Vec::new(), Vec::new());
            let codes = layouts.codes(&params).unwrap();
            merged.translate(which, &codes, &mut translated).unwrap();
            assert!(layouts.expand(&params, &mut expected));
            assert!(merged.layouts.expand(&translated, &mut actual));
            assert_eq!(actual, expected);
        }
        let alone = MergedLayouts::merge(&[&a]);
        assert_eq!(alone.layouts, a);
    }
}

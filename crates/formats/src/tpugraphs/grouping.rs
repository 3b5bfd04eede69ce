//! Finds the slot groups of a layout file while its configurations are streamed.
//!
//! Initially all slots are in one group. A group is split when its slots differ in a row. Both new groups have the
//! codes of the previous rows, in which the slots were equal. So every row is compared completely, and the result is
//! exact for any data.

use std::collections::HashMap;

use ahash::RandomState;
use tsql_codecs::layout::{Layouts, VECTOR_WIDTH, Vector};

use crate::npy::Dtype;

/// Maximum number of distinct vectors per group.
const MAX_VECTORS: usize = 1 << 16;

/// Initial capacity in rows; the files of the release have up to 100,040.
const INITIAL_ROWS: usize = 1 << 17;

/// Slots that were equal in all rows so far.
#[derive(Clone, Debug)]
struct SlotGroup {
    /// Slots in ascending order.
    slots: Vec<usize>,
    /// Code of each vector by its raw bytes.
    codes_by_vector: HashMap<Box<[u8]>, u16, RandomState>,
    vectors: Vec<Vector>,
    /// Raw bytes and code of the previous row.
    last: (Vec<u8>, u16),
    /// Code of each row.
    codes: Vec<u16>,
}

/// Groups of the slots after the rows so far.
pub(super) struct SlotGrouping {
    dtype: Dtype,
    slot_count: usize,
    groups: Vec<SlotGroup>,
    rows: usize,
}

/// Layouts with the codes of each row.
#[derive(Debug)]
pub(super) struct GroupedLayouts {
    pub(super) layouts: Layouts,
    /// Packed codes, concatenated for all rows.
    pub(super) params: Vec<u8>,
}

impl GroupedLayouts {
    /// Packs the codes of each group and row.
    fn new(layouts: Layouts, codes: &[Vec<u16>], rows: usize) -> Self {
        let mut params = Vec::with_capacity(rows * layouts.params_length());
        let mut row_codes = Vec::with_capacity(codes.len());
        for row in 0..rows {
            row_codes.clear();
            row_codes.extend(codes.iter().filter_map(|codes| codes.get(row)));
            layouts.push(&row_codes, &mut params);
        }
        Self { layouts, params }
    }
}

impl SlotGrouping {
    /// Creates the initial group of `slot_count` slots.
    pub(super) fn new(dtype: Dtype, rows: usize, slot_count: usize) -> Self {
        let all = SlotGroup {
            slots: (0..slot_count).collect(),
            codes_by_vector: HashMap::default(),
            vectors: Vec::new(),
            last: (Vec::new(), 0),
            codes: Vec::with_capacity(rows.min(INITIAL_ROWS)),
        };
        let groups = if slot_count == 0 { vec![] } else { vec![all] };
        Self {
            dtype,
            slot_count,
            groups,
            rows: 0,
        }
    }

    /// Adds the next row: `18 * slots` raw numbers.
    pub(super) fn add_row(&mut self, row: &[u8]) -> Result<(), String> {
        let width = VECTOR_WIDTH * self.dtype.bytes;
        let slot = |slot: usize| row.get(slot * width..(slot + 1) * width).unwrap_or(&[]);
        for group in 0..self.groups.len() {
            while let Some(part) = self
                .groups
                .get_mut(group)
                .and_then(|group| group.split(slot))
            {
                self.groups.push(part);
            }
        }
        for group in &mut self.groups {
            let Some(&first) = group.slots.first() else {
                continue;
            };
            group.push(slot(first), &self.dtype)?;
        }
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> GroupedLayouts {
        self.groups
            .sort_by_key(|group| group.slots.first().copied());
        let mut group_of_slot = vec![0; self.slot_count];
        let mut vectors = Vec::with_capacity(self.groups.len());
        for (number, group) in (0..).zip(&mut self.groups) {
            for &slot in &group.slots {
                if let Some(slot_group) = group_of_slot.get_mut(slot) {
                    *slot_group = number;
                }
            }
            vectors.push(std::mem::take(&mut group.vectors));
        }
        let codes: Vec<Vec<u16>> = self.groups.into_iter().map(|group| group.codes).collect();
        GroupedLayouts::new(Layouts::new(group_of_slot, vectors), &codes, self.rows)
    }
}

impl SlotGroup {
    /// Removes the slots that differ from the first slot and are equal to each other, and returns them as a new group;
    /// `None` if all slots are equal. The remaining slots may still differ.
    fn split<'a>(&mut self, bytes: impl Fn(usize) -> &'a [u8]) -> Option<Self> {
        let first = bytes(self.slots.first().copied()?);
        let other = self
            .slots
            .iter()
            .find(|&&slot| !vectors_equal(bytes(slot), first))?;
        let other = bytes(*other);
        let is_equal = |&&slot: &&usize| vectors_equal(bytes(slot), other);
        let (different, remaining) = self.slots.iter().partition(is_equal);
        self.slots = remaining;
        let mut codes = Vec::with_capacity(self.codes.capacity());
        codes.extend_from_slice(&self.codes);
        Some(Self {
            slots: different,
            codes_by_vector: self.codes_by_vector.clone(),
            vectors: self.vectors.clone(),
            last: self.last.clone(),
            codes,
        })
    }

    fn push(&mut self, bytes: &[u8], dtype: &Dtype) -> Result<(), String> {
        if self.codes.is_empty() || !vectors_equal(&self.last.0, bytes) {
            let code = match self.codes_by_vector.get(bytes) {
                Some(&code) => code,
                None => self.add_vector(bytes, dtype)?,
            };
            self.last.0.clear();
            self.last.0.extend_from_slice(bytes);
            self.last.1 = code;
        }
        self.codes.push(self.last.1);
        Ok(())
    }

    fn add_vector(&mut self, bytes: &[u8], dtype: &Dtype) -> Result<u16, String> {
        let mut numbers = Vec::with_capacity(VECTOR_WIDTH);
        dtype.decode(bytes, &mut numbers)?;
        let vector = narrow_vector(&numbers)?;
        let too_many = || format!("more than {MAX_VECTORS} layouts of one node");
        let code = u16::try_from(self.vectors.len()).map_err(|_| too_many())?;
        self.vectors.push(vector);
        self.codes_by_vector.insert(bytes.into(), code);
        Ok(code)
    }
}

/// Size of a vector in the type of the release, in bytes.
const RELEASE_VECTOR_BYTES: usize = VECTOR_WIDTH * 4;

/// Whether two vectors are equal. Vectors of the release's size are compared inline, because a call per comparison took
/// a tenth of an ingest.
fn vectors_equal(a: &[u8], b: &[u8]) -> bool {
    match (
        <&[u8; RELEASE_VECTOR_BYTES]>::try_from(a),
        <&[u8; RELEASE_VECTOR_BYTES]>::try_from(b),
    ) {
        (Ok(a), Ok(b)) => {
            let ((a, _), (b, _)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
            let pairs = a.iter().zip(b);
            let differences = pairs.map(|(a, b)| u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b));
            differences.fold(0, |all, bits| all | bits) == 0
        }
        _ => a == b,
    }
}

fn narrow_vector(numbers: &[i64]) -> Result<Vector, String> {
    let mut vector = [0; VECTOR_WIDTH];
    for (dimension, &number) in vector.iter_mut().zip(numbers) {
        *dimension = i8::try_from(number).map_err(|_| format!("{number} is not a dimension"))?;
    }
    Ok(vector)
}

/// Grouping of an array in Fortran order: for each of the 18 numbers of a vector and each slot, the numbers of all rows
/// follow each other. Each slot has one code per row while its vectors grow.
pub(super) struct FortranGrouping {
    dtype: Dtype,
    rows: usize,
    slots: Vec<SlotVectors>,
}

/// Known prefixes of the vectors of a slot.
struct SlotVectors {
    prefixes: Vec<Vec<i64>>,
    codes: Vec<u16>,
}

impl FortranGrouping {
    pub(super) fn new(dtype: Dtype, rows: usize, slots: usize) -> Self {
        let slot = || SlotVectors {
            prefixes: vec![Vec::new()],
            codes: vec![0; rows],
        };
        let slots = std::iter::repeat_with(slot).take(slots).collect();
        Self { dtype, rows, slots }
    }

    /// Adds the next number of the vectors of a slot, for all rows.
    pub(super) fn add_plane(&mut self, slot: usize, bytes: &[u8]) -> Result<(), String> {
        let mut numbers = Vec::with_capacity(self.rows);
        self.dtype.decode(bytes, &mut numbers)?;
        let Some(slot) = self.slots.get_mut(slot) else {
            return Ok(());
        };
        let mut extended_codes: HashMap<(u16, i64), u16, RandomState> = HashMap::default();
        let mut extended = Vec::new();
        for (code, number) in slot.codes.iter_mut().zip(numbers) {
            if let Some(&new_code) = extended_codes.get(&(*code, number)) {
                *code = new_code;
                continue;
            }
            let too_many = |_| format!("more than {MAX_VECTORS} layouts of one node");
            let new_code = u16::try_from(extended.len()).map_err(too_many)?;
            let mut vector = slot
                .prefixes
                .get(usize::from(*code))
                .cloned()
                .unwrap_or_default();
            vector.push(number);
            extended.push(vector);
            extended_codes.insert((*code, number), new_code);
            *code = new_code;
        }
        slot.prefixes = extended;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<GroupedLayouts, String> {
        let (mut group_of_slot, mut vectors) = (Vec::with_capacity(self.slots.len()), Vec::new());
        let mut groups: HashMap<(Vec<Vec<i64>>, Vec<u16>), u32> = HashMap::new();
        let mut codes = Vec::new();
        for slot in self.slots {
            let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
            let key = (slot.prefixes, slot.codes);
            if let Some(&group) = groups.get(&key) {
                group_of_slot.push(group);
                continue;
            }
            let slot_vectors = key.0.iter().map(|numbers| narrow_vector(numbers));
            vectors.push(if self.rows == 0 {
                Vec::new()
            } else {
                slot_vectors.collect::<Result<_, _>>()?
            });
            group_of_slot.push(next);
            codes.push(key.1.clone());
            groups.insert(key, next);
        }
        let layouts = Layouts::new(group_of_slot, vectors);
        Ok(GroupedLayouts::new(layouts, &codes, self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of slots of vectors, each vector given by its first number.
    fn rows(rows: &[&[i8]]) -> Vec<Vec<i8>> {
        let slot = |&first: &i8| {
            let mut vector = vec![-1; VECTOR_WIDTH];
            vector[0] = first;
            vector[VECTOR_WIDTH - 1] = first / 2;
            vector
        };
        rows.iter()
            .map(|row| row.iter().flat_map(slot).collect())
            .collect()
    }

    fn by_rows(rows: &[Vec<i8>], slots: usize) -> GroupedLayouts {
        let mut grouping = SlotGrouping::new(Dtype::parse("|i1").unwrap(), rows.len(), slots);
        for row in rows {
            let bytes: Vec<u8> = row.iter().map(|&number| number.cast_unsigned()).collect();
            grouping.add_row(&bytes).unwrap();
        }
        grouping.finish()
    }

    fn by_planes(rows: &[Vec<i8>], slots: usize) -> GroupedLayouts {
        let mut planes = FortranGrouping::new(Dtype::parse("|i1").unwrap(), rows.len(), slots);
        for number in 0..VECTOR_WIDTH {
            for slot in 0..slots {
                let column = slot * VECTOR_WIDTH + number;
                let plane: Vec<u8> = rows.iter().map(|row| row[column].cast_unsigned()).collect();
                planes.add_plane(slot, &plane).unwrap();
            }
        }
        planes.finish().unwrap()
    }

    fn expand(grouped: &GroupedLayouts) -> Vec<Vec<i8>> {
        let params = grouped.params.chunks(grouped.layouts.params_length());
        let row = |params: &[u8]| {
            let mut row = Vec::new();
            assert!(grouped.layouts.expand(params, &mut row));
            row
        };
        params.map(row).collect()
    }

    #[test]
    fn groups_are_found_and_rows_come_back() {
        for (data, groups) in [
            (rows(&[&[1, 1, 1], &[2, 2, 2]]), 1),
            (rows(&[&[1, 1, 1, 1], &[2, 3, 2, 3], &[1, 1, 1, 1]]), 2),
            (rows(&[&[1, 1, 1, 1], &[1, 2, 3, 2], &[5, 2, 3, 4]]), 4),
            (rows(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]), 3),
            (rows(&[&[7, 8]]), 2),
        ] {
            let slots = data[0].len() / VECTOR_WIDTH;
            for grouped in [by_rows(&data, slots), by_planes(&data, slots)] {
                assert_eq!(grouped.layouts.vectors.len(), groups);
                assert_eq!(expand(&grouped), data);
            }
        }
    }

    #[test]
    fn both_orders_give_the_same() {
        let data = rows(&[&[1, 1, 1, 4], &[1, 2, 3, 4], &[5, 2, 3, 4], &[1, 1, 1, 4]]);
        let (a, b) = (by_rows(&data, 4), by_planes(&data, 4));
        assert_eq!((a.layouts, a.params), (b.layouts, b.params));
    }

    #[test]
    fn files_without_rows_or_slots_have_no_groups() {
        assert!(by_rows(&[], 3).params.is_empty());
        assert!(by_planes(&[], 3).params.is_empty());
        assert!(by_rows(&[vec![], vec![]], 0).layouts.vectors.is_empty());
    }

    #[test]
    fn invalid_dimensions_are_rejected() {
        let mut grouping = SlotGrouping::new(Dtype::parse("<i2").unwrap(), 1, 1);
        let row: Vec<u8> = [300_i16; VECTOR_WIDTH]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        assert_eq!(
            grouping.add_row(&row).unwrap_err(),
            "300 is not a dimension"
        );
    }
}

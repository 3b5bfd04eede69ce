//! Whole numbers that lie close together: the group of each is found by its place, without hashing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

/// Numbers of a page, as bits.
const PAGE_BITS: u32 = 10;

/// Numbers of a page.
const PAGE: usize = 1 << PAGE_BITS;

/// So many places for each number at most, or they lie too far apart.
const MOST_PLACES: usize = 8;

/// Of each number of a page one more than its group; 0 without.
type Page = Box<[u32; PAGE]>;

/// Different numbers in the order in which they came: their places are their groups.
#[derive(Default)]
pub(in crate::query) struct Numbers {
    values: Vec<i64>,
    /// The group of NULL.
    null: Option<usize>,
    pages: Vec<Page>,
    places: HashMap<i64, usize>,
    /// The last page that was looked at, and its place.
    last: Option<(i64, usize)>,
    /// The same in a hash table, where they lie far apart.
    scattered: Option<Box<dyn GroupValues>>,
}

impl Numbers {
    /// Sets `groups` to the group of each number.
    pub(in crate::query) fn find(
        &mut self,
        numbers: &ArrayRef,
        groups: &mut Vec<usize>,
    ) -> Result<()> {
        if let Some(scattered) = &mut self.scattered {
            return scattered.intern(std::slice::from_ref(numbers), groups);
        }
        groups.clear();
        groups.reserve(numbers.len());
        let numbers = datafusion::common::cast::as_int64_array(numbers)?;
        for number in numbers {
            let group = match number {
                Some(number) => self.group(number),
                None => Some(self.group_of_null()),
            };
            groups.push(group.ok_or_else(|| internal_datafusion_err!("a page is missing"))?);
        }
        let are_far = self.pages.len() * PAGE > MOST_PLACES * (self.values.len() + PAGE);
        // The next ones could have groups that no place holds.
        let are_many = u32::try_from(self.values.len() + (1 << 30)).is_err();
        if are_far || are_many {
            self.scatter()?;
        }
        Ok(())
    }

    fn group_of_null(&mut self) -> usize {
        let next = self.values.len();
        let group = *self.null.get_or_insert(next);
        if group == next {
            self.values.push(0);
        }
        group
    }

    fn group(&mut self, number: i64) -> Option<usize> {
        let (page, place) = (number >> PAGE_BITS, number & ((1 << PAGE_BITS) - 1));
        let page = match self.last {
            Some((last, at)) if last == page => at,
            _ => self.page(page),
        };
        let group = self.pages.get_mut(page)?;
        let group = group.get_mut(usize::try_from(place).ok()?)?;
        if *group == 0 {
            self.values.push(number);
            *group = u32::try_from(self.values.len()).ok()?;
        }
        usize::try_from(*group - 1).ok()
    }

    fn page(&mut self, page: i64) -> usize {
        let next = self.pages.len();
        let at = *self.places.entry(page).or_insert(next);
        if at == next {
            self.pages.push(Box::new([0; PAGE]));
        }
        self.last = Some((page, at));
        at
    }

    /// The same groups in a hash table.
    fn scatter(&mut self) -> Result<()> {
        let known = std::mem::take(self).into_array()?;
        let field = Field::new("number", DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field]));
        let mut scattered = new_group_values(schema, &GroupOrdering::None)?;
        scattered.intern(&[known], &mut Vec::new())?;
        self.scattered = Some(scattered);
        Ok(())
    }

    pub(in crate::query) fn len(&self) -> usize {
        let scattered = self.scattered.as_ref();
        scattered.map_or(self.values.len(), |groups| groups.len())
    }

    pub(in crate::query) fn bytes(&self) -> usize {
        let scattered = self.scattered.as_ref();
        scattered.map_or(0, |groups| groups.size())
            + self.pages.len() * (size_of::<[u32; PAGE]>() + 2 * size_of::<(i64, usize)>())
            + self.values.capacity() * size_of::<i64>()
    }

    /// All of them.
    pub(in crate::query) fn into_array(self) -> Result<ArrayRef> {
        if let Some(mut scattered) = self.scattered {
            let all = scattered.emit(EmitTo::All)?.pop();
            return all.ok_or_else(|| internal_datafusion_err!("groups have no numbers"));
        }
        let nulls = self.null.map(|null| {
            let places = 0..self.values.len();
            NullBuffer::from_iter(places.map(|place| place != null))
        });
        Ok(Arc::new(Int64Array::new(self.values.into(), nulls)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_a_map() {
        let mut random = fastrand::Rng::with_seed(3);
        for (from, to, are_scattered) in [
            (0, 5000, false),
            (-3000, 3000, false),
            (i64::MAX - 4000, i64::MAX, false),
            (i64::MIN, i64::MIN + 4000, false),
            (i64::MIN, i64::MAX, true),
            (0, 1 << 40, true),
        ] {
            let mut numbers = Numbers::default();
            let mut known: HashMap<Option<i64>, usize> = HashMap::new();
            let mut groups = Vec::new();
            for _ in 0..40 {
                let some = |random: &mut fastrand::Rng| {
                    let is_some = random.u8(..) > 3;
                    is_some.then(|| random.i64(from..=to))
                };
                let batch: Vec<Option<i64>> = (0..500).map(|_| some(&mut random)).collect();
                let array: ArrayRef = Arc::new(Int64Array::from(batch.clone()));
                numbers.find(&array, &mut groups).unwrap();
                let wanted = batch.iter().map(|number| {
                    let next = known.len();
                    *known.entry(*number).or_insert(next)
                });
                assert_eq!(groups, wanted.collect::<Vec<_>>());
                assert_eq!(numbers.len(), known.len());
            }
            assert_eq!(numbers.scattered.is_some(), are_scattered, "{from} {to}");
            assert!(numbers.bytes() >= 8 * known.len());
            let all = numbers.into_array().unwrap();
            let all = datafusion::common::cast::as_int64_array(&all).unwrap();
            assert_eq!(all.len(), known.len());
            for (group, number) in all.iter().enumerate() {
                assert_eq!(known.get(&number), Some(&group));
            }
        }
    }
}

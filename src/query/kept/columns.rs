//! The columns that are kept, of all stores and sessions of the process.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use arrow::array::{
    Array as _, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, BooleanArray, PrimitiveArray,
    UInt64Array, downcast_primitive_array,
};
use arrow::compute::{max, min};
use arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::execution::object_store::ObjectStoreUrl;

use crate::query::memory::{is_half_free, of_process_bytes};

/// Percent of the memory of the process that columns are kept in.
const PERCENT: u64 = 15;

/// Columns of files that are remembered as read once; of more, all are forgotten.
const MOST_SEEN: usize = 1 << 20;

/// The same of conditions.
const MOST_WIDE: usize = 1 << 10;

/// A column of a file, in the pieces in which it was read, and what is known of each.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: Vec<ArrayRef>,
    least: ArrayRef,
    greatest: ArrayRef,
    null_counts: ArrayRef,
}

impl Pieces {
    /// `None` where there is none, or its values have no order.
    fn of(pieces: Vec<ArrayRef>) -> Option<Self> {
        let bounds = pieces.iter().map(bounds).collect::<Option<Vec<_>>>()?;
        let (least, greatest): (Vec<_>, Vec<_>) = bounds.into_iter().unzip();
        let least = ScalarValue::iter_to_array(least).ok()?;
        let greatest = ScalarValue::iter_to_array(greatest).ok()?;
        let null_counts = pieces.iter().map(|piece| piece.null_count() as u64);
        let null_counts = Arc::new(UInt64Array::from_iter_values(null_counts));
        Some(Self {
            pieces,
            least,
            greatest,
            null_counts,
        })
    }

    pub(super) fn get(&self, place: usize) -> Option<ArrayRef> {
        self.pieces.get(place).cloned()
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().map(|piece| piece.len())
    }

    fn bytes(&self) -> usize {
        let bytes = self
            .pieces
            .iter()
            .map(|piece| piece.get_array_memory_size());
        bytes.sum()
    }
}

/// The least and the greatest value; NaN is greater than any other, as comparisons have it.
fn bounds(piece: &ArrayRef) -> Option<(ScalarValue, ScalarValue)> {
    fn of<T>(piece: &PrimitiveArray<T>) -> Option<(ScalarValue, ScalarValue)>
    where
        T: ArrowPrimitiveType<Native: ArrowNativeTypeOp>,
    {
        let scalar = |value| ScalarValue::new_primitive::<T>(value, piece.data_type()).ok();
        Some((scalar(min(piece))?, scalar(max(piece))?))
    }
    downcast_primitive_array!(piece => of(piece), _ => None)
}

/// What is known of the columns of a file, by which pieces are left out.
pub(super) struct Bounds<'a> {
    /// Of the columns.
    pub(super) schema: &'a SchemaRef,
    pub(super) columns: &'a [Arc<Pieces>],
}

impl Bounds<'_> {
    fn of(&self, column: &Column, bound: fn(&Pieces) -> &ArrayRef) -> Option<ArrayRef> {
        let place = self.schema.index_of(&column.name).ok()?;
        self.columns
            .get(place)
            .map(|column| Arc::clone(bound(column)))
    }
}

impl PruningStatistics for Bounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.of(column, |pieces| &pieces.least)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.of(column, |pieces| &pieces.greatest)
    }

    fn num_containers(&self) -> usize {
        self.columns.first().map_or(0, |column| column.pieces.len())
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        self.of(column, |pieces| &pieces.null_counts)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = self.columns.first()?.rows().map(|rows| rows as u64);
        Some(Arc::new(UInt64Array::from_iter_values(rows)))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

/// A file of a store, or the part of it that one thread reads, in pieces of so many rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileKey {
    store: ObjectStoreUrl,
    path: Arc<str>,
    range: Option<(i64, i64)>,
    piece_rows: usize,
}

impl FileKey {
    pub(super) fn new(store: &ObjectStoreUrl, file: &PartitionedFile, piece_rows: usize) -> Self {
        Self {
            store: store.clone(),
            path: Arc::from(file.path().as_ref()),
            range: file.range.as_ref().map(|range| (range.start, range.end)),
            piece_rows,
        }
    }
}

/// A column of a file of a store.
type Key = (FileKey, Arc<str>);

/// Columns that are kept while there is room, the last asked for the longest. Data files never change, so that none of them is ever wrong.
#[derive(Debug)]
pub(super) struct Columns {
    most_bytes: usize,
    /// Asked before a column is kept: a machine may have many such processes.
    has_room: fn() -> bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    seen: HashSet<Key>,
    /// Conditions that leave much.
    wide: HashSet<String>,
    kept: HashMap<Key, Kept>,
    bytes: usize,
    questions: u64,
}

#[derive(Debug)]
struct Kept {
    pieces: Arc<Pieces>,
    bytes: usize,
    /// The last question that asked for it.
    question: u64,
}

impl Columns {
    /// Those of this process.
    pub(super) fn of_process() -> &'static Self {
        static COLUMNS: LazyLock<Columns> = LazyLock::new(|| {
            let bytes = of_process_bytes().map_or(0, |bytes| bytes / 100 * PERCENT);
            // Tests do not depend on what else the machine does.
            let has_room = if cfg!(test) { || true } else { is_half_free };
            Columns::within(usize::try_from(bytes).unwrap_or(usize::MAX), has_room)
        });
        &COLUMNS
    }

    fn within(most_bytes: usize, has_room: fn() -> bool) -> Self {
        Self {
            most_bytes,
            has_room,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Was this condition seen to leave much?
    pub(super) fn is_wide(&self, condition: &str) -> bool {
        self.known().wide.contains(condition)
    }

    /// Remembers that this condition leaves much.
    pub(super) fn remember_wide(&self, condition: &str) {
        let mut known = self.known();
        if known.wide.len() >= MOST_WIDE {
            known.wide.clear();
        }
        known.wide.insert(condition.to_owned());
    }

    /// A question for these columns: its number, if they are kept or are to be.
    ///
    /// They are to be where another has asked for all of them (`whole`) before this one, which does so, too.
    pub(super) fn ask<'a>(
        &self,
        files: impl Iterator<Item = FileKey>,
        names: impl Iterator<Item = &'a Arc<str>> + Clone,
        whole: bool,
    ) -> Option<u64> {
        if self.most_bytes == 0 {
            return None;
        }
        let mut known = self.known();
        known.questions += 1;
        if known.seen.len() > MOST_SEEN {
            known.seen.clear();
        }
        let (mut before, mut all_kept) = (true, true);
        for file in files {
            for name in names.clone() {
                let key = (file.clone(), Arc::clone(name));
                let is_kept = known.kept.contains_key(&key);
                all_kept &= is_kept;
                before &= is_kept || (whole && !known.seen.insert(key));
                if !whole && !before {
                    return None;
                }
            }
        }
        (before && (all_kept || (self.has_room)())).then_some(known.questions)
    }

    /// All of these columns in pieces of the same rows; `None` unless all are kept.
    pub(super) fn get<'a>(
        &self,
        file: &FileKey,
        names: impl Iterator<Item = &'a Arc<str>>,
        question: u64,
    ) -> Option<Vec<Arc<Pieces>>> {
        let mut known = self.known();
        let found = names.map(|name| {
            let kept = known.kept.get_mut(&(file.clone(), Arc::clone(name)))?;
            kept.question = kept.question.max(question);
            Some(Arc::clone(&kept.pieces))
        });
        let found: Vec<Arc<Pieces>> = found.collect::<Option<_>>()?;
        let first = found.first()?;
        let same = found.iter().all(|pieces| pieces.rows().eq(first.rows()));
        same.then_some(found)
    }

    /// Keeps a column in the place of those that this question and later ones have not asked for, if that makes room.
    pub(super) fn keep(
        &self,
        file: &FileKey,
        name: &Arc<str>,
        pieces: Vec<ArrayRef>,
        question: u64,
    ) {
        let pieces = (self.has_room)().then(|| Pieces::of(pieces));
        let Some(pieces) = pieces.flatten() else {
            return;
        };
        let bytes = pieces.bytes();
        let mut known = self.known();
        let key = (file.clone(), Arc::clone(name));
        if known.kept.contains_key(&key) {
            return;
        }
        while known.bytes.saturating_add(bytes) > self.most_bytes {
            let Known { kept, bytes, .. } = &mut *known;
            let others = kept.values().map(|kept| kept.question);
            let Some(oldest) = others.filter(|asked| *asked < question).min() else {
                return;
            };
            kept.retain(|_, column| {
                let stays = column.question != oldest;
                if !stays {
                    *bytes -= column.bytes;
                }
                stays
            });
        }
        known.bytes += bytes;
        known.seen.remove(&key);
        let pieces = Arc::new(pieces);
        known.kept.insert(
            key,
            Kept {
                pieces,
                bytes,
                question,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn columns_are_kept_while_there_is_room() {
        let file = |name: &str| {
            let file = PartitionedFile::new(name, 100);
            FileKey::new(&ObjectStoreUrl::local_filesystem(), &file, 2)
        };
        let pieces = |rows: &[i64]| -> Vec<ArrayRef> {
            let pieces = rows
                .chunks(2)
                .map(|rows| Arc::new(Int64Array::from(rows.to_vec())) as _);
            pieces.collect()
        };
        let names: [Arc<str>; 2] = ["a".into(), "b".into()];
        let [a, b] = &names;
        let one = std::slice::from_ref::<Arc<str>>;
        let bytes: usize = pieces(&[1, 2, 3])
            .iter()
            .map(|piece| piece.get_array_memory_size())
            .sum();
        let columns = Columns::within(2 * bytes, || true);
        let ask = |name: &str, whole| columns.ask([file(name)].into_iter(), names.iter(), whole);
        let has =
            |name: &str, names: &[Arc<str>]| columns.get(&file(name), names.iter(), 0).is_some();

        assert_eq!(ask("1", false), None);
        assert_eq!(ask("1", true), None);
        assert_eq!(ask("1", false), None);
        assert_eq!(ask("1", true), Some(4));
        columns.keep(&file("1"), a, pieces(&[1, 2, 3]), 2);
        assert!(has("1", one(a)));
        assert!(!has("1", &names) && !has("2", one(a)));
        columns.keep(&file("1"), b, pieces(&[4, 5, 6]), 2);
        assert!(has("1", &names));
        assert_eq!(ask("1", false), Some(5));
        // There is no more room for the same question.
        columns.keep(&file("2"), a, pieces(&[1, 2, 3]), 2);
        assert!(!has("2", one(a)));
        // Another takes the place of what was asked for before; pieces of other rows do not go together.
        columns.get(&file("1"), one(b).iter(), 3).unwrap();
        columns.keep(&file("2"), a, pieces(&[1, 2, 3]), 3);
        assert!(has("2", one(a)) && has("1", one(b)) && !has("1", one(a)));
        columns.keep(&file("2"), b, pieces(&[1, 2]), 4);
        assert!(!has("2", &names) && has("2", one(b)));
        let full = Columns::within(2 * bytes, || false);
        for _ in 0..3 {
            let asked = full.ask([file("1")].into_iter(), names.iter(), true);
            assert_eq!(asked, None);
        }
        full.keep(&file("1"), a, pieces(&[1, 2, 3]), 2);
        assert!(full.get(&file("1"), one(a).iter(), 0).is_none());
        let none = Columns::within(0, || true);
        for _ in 0..3 {
            let asked = none.ask([file("1")].into_iter(), names.iter(), true);
            assert_eq!(asked, None);
        }
    }
}

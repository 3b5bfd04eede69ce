//! Assigns rows to batches by epoch and step, without any earlier state.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tsql_error::{Error, Result};

use super::loader_options::LoaderOptions;
use super::permutation::Permutation;
use super::position::Position;
use super::prefetch::PrefetchOptions;
use super::round_robin::RoundRobin;

/// Units that are shuffled and combined into batches.
#[derive(Clone, Debug)]
pub(crate) enum Units {
    /// This number of rows.
    Rows(u64),
    /// Groups of consecutive rows, by their ends.
    Groups(Arc<[u64]>),
}

/// Batches of all epochs.
#[derive(Debug)]
pub(crate) struct Order {
    units: Units,
    turns: Option<RoundRobin>,
    batch_rows: u64,
    options: LoaderOptions,
    /// Ends of the batches among the shuffled groups of the most recently used epoch.
    packed: Mutex<Option<(u64, Arc<[usize]>)>>,
}

/// Order of the units of an epoch.
enum Sequence<'a> {
    AsTheyAre,
    Shuffled(Permutation),
    Turns(&'a RoundRobin, u64),
}

impl Sequence<'_> {
    fn at(&self, place: u64) -> u64 {
        match self {
            Self::AsTheyAre => place,
            Self::Shuffled(of) => of.at(place),
            Self::Turns(of, epoch) => of.unit_at(place, *epoch),
        }
    }
}

/// Row indices of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RowIndices {
    pub(crate) rows: Vec<u64>,
    /// Number of rows of each group, in order, if there are groups.
    pub(crate) group_sizes: Option<Vec<u64>>,
}

impl Order {
    pub(crate) fn new(units: Units, batch_rows: u64, mut options: LoaderOptions) -> Self {
        options.world = options.world.max(1);
        Self {
            units,
            turns: None,
            batch_rows: batch_rows.max(1),
            options,
            packed: Mutex::new(None),
        }
    }

    /// Returns the number of batches that are prefetched, and of threads.
    pub(super) fn ahead(&self) -> PrefetchOptions {
        self.options.ahead
    }

    /// Makes families of consecutive units take turns; they are given by their ends.
    pub(crate) fn with_families(self, families: Arc<[u64]>) -> Self {
        let turns = RoundRobin::new(families, self.options.seed, self.options.shuffle);
        Self {
            turns: Some(turns),
            ..self
        }
    }

    /// Returns the number of units of an epoch.
    fn places(&self) -> u64 {
        match (&self.turns, &self.units) {
            (Some(turns), _) => turns.places(),
            (None, Units::Rows(rows)) => *rows,
            (None, Units::Groups(ends)) => ends.len() as u64,
        }
    }

    fn sequence(&self, epoch: u64) -> Sequence<'_> {
        match &self.turns {
            Some(turns) => Sequence::Turns(turns, epoch),
            None if self.options.shuffle => {
                Sequence::Shuffled(Permutation::new(self.places(), self.options.seed, epoch))
            }
            None => Sequence::AsTheyAre,
        }
    }

    /// Returns the number of groups; `None` if rows are shuffled.
    pub(crate) fn group_count(&self) -> Option<u64> {
        match &self.units {
            Units::Rows(_) => None,
            Units::Groups(ends) => Some(ends.len() as u64),
        }
    }

    /// Returns the batches of an epoch for this rank.
    pub(crate) fn steps(&self, epoch: u64) -> u64 {
        self.steps_of(self.batches(epoch))
    }

    /// Returns the steps of this rank if the ranks share this number of batches.
    fn steps_of(&self, batches: u64) -> u64 {
        if self.options.drop_last {
            batches / self.options.world
        } else if self.options.pad {
            batches.div_ceil(self.options.world)
        } else {
            batches
                .saturating_sub(self.options.rank)
                .div_ceil(self.options.world)
        }
    }

    /// Returns this rank's share of the rest of an epoch, after the batches before `from`, which all ranks
    /// together have used.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has fewer batches.
    pub(crate) fn rank_share(&self, from: Position) -> Result<RankShare> {
        let (epoch, batches) = (from.epoch, self.batches(from.epoch));
        let Some(left) = batches.checked_sub(from.batch) else {
            return Err(Error::Argument {
                name: "from",
                reason: format!(
                    "epoch {epoch} has {batches} batches, so it cannot continue at {}",
                    from.batch
                ),
            });
        };
        let steps = self.steps_of(left);
        let dropped = match self.options.drop_last {
            true => left.saturating_sub(steps.saturating_mul(self.options.world)),
            false => 0,
        };
        Ok(RankShare {
            from,
            steps,
            end: batches - dropped,
            rank: self.options.rank,
            world: self.options.world,
        })
    }

    /// Returns true for a batch at the end of an epoch that repeats one of the first, so that ranks have the
    /// same number.
    pub(crate) fn is_padding(&self, at: Position) -> bool {
        at.batch >= self.batches(at.epoch)
    }

    /// Returns the batches of an epoch for all ranks, without padding.
    pub(crate) fn batches(&self, epoch: u64) -> u64 {
        match &self.units {
            Units::Rows(_) if self.options.drop_last => self.places() / self.batch_rows,
            Units::Rows(_) => self.places().div_ceil(self.batch_rows),
            Units::Groups(ends) => self.pack_groups(ends, epoch).len() as u64,
        }
    }

    /// Returns the row indices of a batch; numbers after the last batch are padding.
    ///
    /// # Errors
    /// [`Error::Argument`] if the epoch has no such batch.
    pub(crate) fn batch_row_indices(&self, at: Position) -> Result<RowIndices> {
        let batches = self.batches(at.epoch);
        let padding = match batches {
            0 => 0,
            _ if self.options.pad && !self.options.drop_last => self.options.world - 1,
            _ => 0,
        };
        if at.batch >= batches.saturating_add(padding) {
            let (epoch, batch) = (at.epoch, at.batch);
            return Err(Error::Argument {
                name: "batch",
                reason: format!(
                    "epoch {epoch} has no batch {batch}, expected a batch below {batches}"
                ),
            });
        }
        let batch = at.batch % batches.max(1);
        Ok(match &self.units {
            Units::Rows(_) => {
                let first = batch * self.batch_rows;
                let last = first.saturating_add(self.batch_rows).min(self.places());
                let sequence = self.sequence(at.epoch);
                RowIndices {
                    rows: (first..last).map(|place| sequence.at(place)).collect(),
                    group_sizes: None,
                }
            }
            Units::Groups(ends) => self.groups(ends, at.epoch, batch),
        })
    }

    fn groups(&self, ends: &[u64], epoch: u64, batch: u64) -> RowIndices {
        let packed = self.pack_groups(ends, epoch);
        let batch = usize::try_from(batch).unwrap_or(usize::MAX);
        let last = packed.get(batch).copied().unwrap_or_default();
        let before = batch.checked_sub(1).and_then(|before| packed.get(before));
        let sequence = self.sequence(epoch);
        let mut chosen = RowIndices::default();
        let sizes = chosen.group_sizes.get_or_insert_default();
        for place in before.copied().unwrap_or_default()..last {
            let rows = group_range(ends, &sequence, place);
            sizes.push(rows.end - rows.start);
            chosen.rows.extend(rows);
        }
        chosen
    }

    /// Computes the ends of batches among the shuffled groups: each batch has as many groups as fit.
    fn pack_groups(&self, ends: &[u64], epoch: u64) -> Arc<[usize]> {
        let mut kept = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packed)) = kept.as_ref().filter(|(of, _)| *of == epoch) {
            return Arc::clone(packed);
        }
        let sequence = self.sequence(epoch);
        let places = usize::try_from(self.places()).unwrap_or(usize::MAX);
        let (mut packed, mut rows) = (Vec::new(), 0);
        for place in 0..places {
            let group = group_range(ends, &sequence, place);
            let size = group.end - group.start;
            if rows > 0 && size > self.batch_rows.saturating_sub(rows) {
                packed.push(place);
                rows = 0;
            }
            rows += size;
        }
        if rows > 0 {
            packed.push(places);
        }
        let packed: Arc<[usize]> = packed.into();
        *kept = Some((epoch, Arc::clone(&packed)));
        packed
    }
}

/// The batches of an epoch that one rank uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankShare {
    from: Position,
    steps: u64,
    /// End of the batches that any rank uses.
    end: u64,
    rank: u64,
    world: u64,
}

impl RankShare {
    /// Returns the number of batches.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.from.epoch
    }

    /// Returns the batch of a step, counted from the first one of this share.
    pub(crate) fn batch(&self, step: u64) -> Position {
        let batch = step.saturating_mul(self.world).saturating_add(self.rank);
        Position {
            batch: self.from.batch.saturating_add(batch),
            ..self.from
        }
    }

    /// Returns the position of all ranks after this number of steps: the next epoch once no rank has any left.
    /// Without padding this rank may be at its end while others have one more; its rest is empty then, and
    /// leads to the next epoch.
    pub(crate) fn position(&self, steps: u64) -> Position {
        let batches = steps.saturating_mul(self.world);
        let batch = self.from.batch.saturating_add(batches);
        if self.steps == 0 || batch >= self.end {
            return Position::start_of(self.from.epoch.saturating_add(1));
        }
        Position { batch, ..self.from }
    }
}

/// Returns the row range of the group at an index of an epoch.
fn group_range(ends: &[u64], sequence: &Sequence, place: usize) -> Range<u64> {
    let place = usize::try_from(sequence.at(place as u64)).unwrap_or(usize::MAX);
    let end_of = |group: Option<usize>| group.and_then(|at| ends.get(at)).copied();
    let end = end_of(Some(place)).unwrap_or_default();
    end_of(place.checked_sub(1)).unwrap_or_default()..end
}

#[cfg(test)]
mod tests;

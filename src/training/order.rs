//! Which rows are in which batch: from the number of an epoch and of a step, without anything that went before.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::options::RowsOptions;
use super::permutation::Permutation;
use super::position::Position;
use super::turns::Turns;
use crate::error::{Error, Result};

/// What is shuffled, and put into batches.
#[derive(Clone, Debug)]
pub(crate) enum Units {
    /// So many rows.
    Rows(u64),
    /// Groups of rows that follow each other, by their ends.
    Groups(Arc<[u64]>),
}

/// The batches of all epochs.
#[derive(Debug)]
pub(crate) struct Order {
    units: Units,
    turns: Option<Turns>,
    batch_rows: u64,
    shuffle: bool,
    seed: u64,
    drop_last: bool,
    rank: u64,
    world: u64,
    /// Ends of the batches among the shuffled groups of the epoch that was last asked for.
    packed: Mutex<Option<(u64, Arc<[usize]>)>>,
}

/// Which unit comes at a place of an epoch.
enum Sequence<'a> {
    AsTheyAre,
    Shuffled(Permutation),
    Turns(&'a Turns, u64),
}

impl Sequence<'_> {
    fn at(&self, place: u64) -> u64 {
        match self {
            Self::AsTheyAre => place,
            Self::Shuffled(of) => of.at(place),
            Self::Turns(of, epoch) => of.at(place, *epoch),
        }
    }
}

/// The rows of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) rows: Vec<u64>,
    /// Rows of each group, in their order, where there are groups.
    pub(crate) group_sizes: Option<Vec<u64>>,
}

impl Order {
    pub(crate) fn new(units: Units, options: &RowsOptions) -> Self {
        Self {
            units,
            turns: None,
            batch_rows: options.batch_rows.max(1),
            shuffle: options.shuffle,
            seed: options.seed,
            drop_last: options.drop_last,
            rank: options.rank,
            world: options.world.max(1),
            packed: Mutex::new(None),
        }
    }

    /// The same where families of units, which follow each other, take turns; by their ends.
    pub(crate) fn in_turns(self, families: Arc<[u64]>) -> Self {
        let turns = Turns::new(families, self.seed, self.shuffle);
        Self {
            turns: Some(turns),
            ..self
        }
    }

    /// Places of an epoch, of a unit each.
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
            None if self.shuffle => {
                Sequence::Shuffled(Permutation::new(self.places(), self.seed, epoch))
            }
            None => Sequence::AsTheyAre,
        }
    }

    /// Groups; `None` where rows are shuffled.
    pub(crate) fn group_count(&self) -> Option<u64> {
        match &self.units {
            Units::Rows(_) => None,
            Units::Groups(ends) => Some(ends.len() as u64),
        }
    }

    /// Batches of an epoch for this rank: as many as for the others.
    pub(crate) fn steps(&self, epoch: u64) -> u64 {
        let batches = self.batches(epoch);
        if self.drop_last {
            batches / self.world
        } else {
            batches.div_ceil(self.world)
        }
    }

    /// Batches of an epoch for all ranks.
    fn batches(&self, epoch: u64) -> u64 {
        match &self.units {
            Units::Rows(_) if self.drop_last => self.places() / self.batch_rows,
            Units::Rows(_) => self.places().div_ceil(self.batch_rows),
            Units::Groups(ends) => self.packed(ends, epoch).len() as u64,
        }
    }

    /// The rows of a step.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such step.
    pub(crate) fn chosen(&self, at: Position) -> Result<Chosen> {
        let steps = self.steps(at.epoch);
        if at.step >= steps {
            let (epoch, step) = (at.epoch, at.step);
            return Err(Error::Argument {
                name: "step",
                reason: format!("epoch {epoch} has no step {step}: it has {steps}, from 0"),
            });
        }
        // The last step gives the first batches again to ranks that would have none.
        let batch = (at.step * self.world + self.rank) % self.batches(at.epoch).max(1);
        Ok(match &self.units {
            Units::Rows(_) => {
                let first = batch * self.batch_rows;
                let last = first.saturating_add(self.batch_rows).min(self.places());
                let sequence = self.sequence(at.epoch);
                Chosen {
                    rows: (first..last).map(|place| sequence.at(place)).collect(),
                    group_sizes: None,
                }
            }
            Units::Groups(ends) => self.groups(ends, at.epoch, batch),
        })
    }

    fn groups(&self, ends: &[u64], epoch: u64, batch: u64) -> Chosen {
        let packed = self.packed(ends, epoch);
        let batch = usize::try_from(batch).unwrap_or(usize::MAX);
        let last = packed.get(batch).copied().unwrap_or_default();
        let before = batch.checked_sub(1).and_then(|before| packed.get(before));
        let sequence = self.sequence(epoch);
        let mut chosen = Chosen::default();
        let sizes = chosen.group_sizes.get_or_insert_default();
        for place in before.copied().unwrap_or_default()..last {
            let rows = group(ends, &sequence, place);
            sizes.push(rows.end - rows.start);
            chosen.rows.extend(rows);
        }
        chosen
    }

    /// Where batches end among the shuffled groups: each takes groups as long as they fit.
    fn packed(&self, ends: &[u64], epoch: u64) -> Arc<[usize]> {
        let mut kept = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packed)) = kept.as_ref().filter(|(of, _)| *of == epoch) {
            return Arc::clone(packed);
        }
        let sequence = self.sequence(epoch);
        let places = usize::try_from(self.places()).unwrap_or(usize::MAX);
        let (mut packed, mut rows) = (Vec::new(), 0);
        for place in 0..places {
            let group = group(ends, &sequence, place);
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

/// The rows of the group at a place of an epoch.
fn group(ends: &[u64], sequence: &Sequence, place: usize) -> Range<u64> {
    let place = usize::try_from(sequence.at(place as u64)).unwrap_or(usize::MAX);
    let end_of = |group: Option<usize>| group.and_then(|at| ends.get(at)).copied();
    let end = end_of(Some(place)).unwrap_or_default();
    end_of(place.checked_sub(1)).unwrap_or_default()..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(units: &Units, options: &RowsOptions) -> Order {
        Order::new(units.clone(), options)
    }

    fn epoch(order: &Order, epoch: u64) -> Vec<Chosen> {
        let steps = 0..order.steps(epoch);
        let chosen = steps.map(|step| order.chosen(Position { epoch, step }).unwrap());
        chosen.collect()
    }

    fn groups() -> Units {
        // 3, 1, 9, 2, 2, 5 rows.
        Units::Groups(Arc::from([3, 4, 13, 15, 17, 22]))
    }

    fn sorted(batches: &[Chosen]) -> Vec<u64> {
        let mut rows: Vec<u64> = batches
            .iter()
            .flat_map(|batch| batch.rows.clone())
            .collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn each_row_comes_once_an_epoch() {
        for units in [Units::Rows(22), groups()] {
            for options in [
                RowsOptions::default().batch_rows(4),
                RowsOptions::default().batch_rows(4).shuffle(false),
                RowsOptions::default().batch_rows(100),
            ] {
                let order = order(&units, &options);
                for number in 0..3 {
                    assert!(sorted(&epoch(&order, number)).into_iter().eq(0..22));
                }
            }
        }
    }

    #[test]
    fn groups_stay_whole_and_fill_batches() {
        let options = RowsOptions::default().batch_rows(5);
        let order = order(&groups(), &options.clone().shuffle(false));
        let sizes = |batches: &[Chosen]| -> Vec<Vec<u64>> {
            let sizes = batches.iter().map(|batch| batch.group_sizes.clone());
            sizes.map(Option::unwrap).collect()
        };
        let batches = epoch(&order, 0);
        // The group of nine is larger than a batch.
        let expected = [vec![3, 1], vec![9], vec![2, 2], vec![5]];
        assert_eq!(sizes(&batches), expected);
        assert_eq!(batches[1].rows, Vec::from_iter(4..13));
        let shuffled = self::order(&groups(), &options);
        assert!((0..5).any(|number| sizes(&epoch(&shuffled, number)) != expected));
    }

    #[test]
    fn ranks_together_give_what_one_gives() {
        for units in [Units::Rows(103), groups()] {
            for drop_last in [false, true] {
                let options = RowsOptions::default().batch_rows(4).drop_last(drop_last);
                let alone = epoch(&order(&units, &options), 1);
                for world in [1, 2, 3, 4] {
                    let ranks = (0..world)
                        .map(|rank| epoch(&order(&units, &options.clone().rank(rank, world)), 1));
                    let ranks: Vec<_> = ranks.collect();
                    assert!(ranks.iter().all(|rank| rank.len() == ranks[0].len()));
                    let steps = 0..ranks[0].len();
                    let union = steps.flat_map(|step| ranks.iter().map(move |rank| &rank[step]));
                    let union: Vec<_> = union.collect();
                    let least = if drop_last { union.len() } else { alone.len() };
                    let repeated = alone.iter().cycle();
                    assert!(
                        union.len() >= least
                            && union
                                .into_iter()
                                .eq(repeated.take(alone.len().div_ceil(ranks.len()) * ranks.len()))
                            || drop_last
                    );
                }
            }
        }
    }

    #[test]
    fn families_take_turns_by_rows_and_by_groups() {
        // Families of 15 and 7 rows, of four groups and two.
        let options = RowsOptions::default().batch_rows(4);
        let by_rows = order(&Units::Rows(22), &options).in_turns(Arc::from([15, 22]));
        let by_groups = order(&groups(), &options).in_turns(Arc::from([4, 6]));
        for number in 0..3 {
            let rows = sorted(&epoch(&by_rows, number));
            let least = rows.iter().filter(|row| **row < 15).count();
            assert_eq!((rows.len(), least), (22, 11));
            let batches = epoch(&by_groups, number);
            let sizes = batches
                .iter()
                .flat_map(|batch| batch.group_sizes.clone().unwrap());
            assert_eq!(sizes.count(), 6);
            let groups_of_second = batches.iter().flat_map(|batch| &batch.rows);
            // The groups of the second family have 2 and 5 rows, and come three times in all.
            let rows = groups_of_second.filter(|row| **row >= 15).count();
            assert!([9, 12].contains(&rows), "{rows}");
            assert!(batches.iter().all(
                |batch| batch.rows.len() <= 4 || batch.group_sizes.as_ref().unwrap().len() == 1
            ));
        }
        let again = order(&Units::Rows(22), &options).in_turns(Arc::from([15, 22]));
        assert_eq!(epoch(&by_rows, 2), epoch(&again, 2));
        for world in [2, 3] {
            let ranks = (0..world).map(|rank| {
                let options = options.clone().rank(rank, world);
                epoch(
                    &order(&Units::Rows(22), &options).in_turns(Arc::from([15, 22])),
                    2,
                )
            });
            let ranks: Vec<_> = ranks.collect();
            let union =
                (0..ranks[0].len()).flat_map(|step| ranks.iter().map(move |rank| &rank[step]));
            let alone = epoch(&by_rows, 2);
            assert!(
                union
                    .zip(alone.iter().cycle())
                    .all(|(one, other)| one == other)
            );
        }
    }

    #[test]
    fn what_is_left_over_is_dropped_or_repeated() {
        let rows = Units::Rows(10);
        let of = |options: &RowsOptions| {
            let order = order(&rows, options);
            let sizes = epoch(&order, 0).into_iter().map(|batch| batch.rows.len());
            sizes.collect::<Vec<_>>()
        };
        let options = RowsOptions::default().batch_rows(4);
        assert_eq!(of(&options), [4, 4, 2]);
        assert_eq!(of(&options.clone().drop_last(true)), [4, 4]);
        assert_eq!(of(&options.clone().rank(1, 2)), [4, 4]);
        assert_eq!(of(&options.clone().rank(1, 2).drop_last(true)), [4]);
        assert_eq!(of(&options.clone().rank(4, 5).drop_last(true)), [0; 0]);
        let none = order(&Units::Rows(0), &options);
        assert_eq!(none.steps(0), 0);
        let told = none.chosen(Position::default()).unwrap_err().to_string();
        assert!(told.contains("epoch 0 has no step 0: it has 0"), "{told}");
    }
}

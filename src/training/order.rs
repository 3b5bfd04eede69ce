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
    pad: bool,
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
            pad: options.pad,
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

    /// Batches of an epoch for this rank.
    pub(crate) fn steps(&self, epoch: u64) -> u64 {
        self.steps_of(self.batches(epoch))
    }

    /// Steps of this rank while the ranks share so many batches.
    fn steps_of(&self, batches: u64) -> u64 {
        if self.drop_last {
            batches / self.world
        } else if self.pad {
            batches.div_ceil(self.world)
        } else {
            batches.saturating_sub(self.rank).div_ceil(self.world)
        }
    }

    /// The rest of an epoch for this rank, after the batches before `from`, which ranks took together.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has fewer batches.
    pub(crate) fn share(&self, from: Position) -> Result<Share> {
        let (epoch, batches) = (from.epoch, self.batches(from.epoch));
        let Some(left) = batches.checked_sub(from.batch) else {
            return Err(Error::Argument {
                name: "from",
                reason: format!(
                    "epoch {epoch} has {batches} batches: it cannot go on at {}",
                    from.batch
                ),
            });
        };
        let steps = self.steps_of(left);
        let dropped = match self.drop_last {
            true => left.saturating_sub(steps.saturating_mul(self.world)),
            false => 0,
        };
        Ok(Share {
            from,
            steps,
            end: batches - dropped,
            rank: self.rank,
            world: self.world,
        })
    }

    /// True for a batch at the end of an epoch that repeats one of its first, so that ranks have equally many.
    pub(crate) fn is_padding(&self, at: Position) -> bool {
        at.batch >= self.batches(at.epoch)
    }

    /// Batches of an epoch for all ranks, without padding.
    pub(crate) fn batches(&self, epoch: u64) -> u64 {
        match &self.units {
            Units::Rows(_) if self.drop_last => self.places() / self.batch_rows,
            Units::Rows(_) => self.places().div_ceil(self.batch_rows),
            Units::Groups(ends) => self.packed(ends, epoch).len() as u64,
        }
    }

    /// The rows of a batch; numbers from that of the last batch on are those of padding.
    ///
    /// # Errors
    /// [`Error::Argument`] where the epoch has no such batch.
    pub(crate) fn chosen(&self, at: Position) -> Result<Chosen> {
        let batches = self.batches(at.epoch);
        let padding = match batches {
            0 => 0,
            _ if self.pad && !self.drop_last => self.world - 1,
            _ => 0,
        };
        if at.batch >= batches.saturating_add(padding) {
            let (epoch, batch) = (at.epoch, at.batch);
            return Err(Error::Argument {
                name: "batch",
                reason: format!("epoch {epoch} has no batch {batch}: it has {batches}, from 0"),
            });
        }
        let batch = at.batch % batches.max(1);
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

/// The batches of an epoch that one rank takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    from: Position,
    steps: u64,
    /// The batch after the last one that some rank takes.
    end: u64,
    rank: u64,
    world: u64,
}

impl Share {
    /// How many they are.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.from.epoch
    }

    /// The batch of a step, counted from the first one of this share.
    pub(crate) fn batch(&self, step: u64) -> Position {
        let batch = step.saturating_mul(self.world).saturating_add(self.rank);
        Position {
            batch: self.from.batch.saturating_add(batch),
            ..self.from
        }
    }

    /// Where all ranks go on after so many steps: the next epoch once nobody has any left. Without padding this rank may be at
    /// its end while others have one more; its rest is empty then, and leads to the next epoch.
    pub(crate) fn position(&self, steps: u64) -> Position {
        let batches = steps.saturating_mul(self.world);
        let batch = self.from.batch.saturating_add(batches);
        if self.steps == 0 || batch >= self.end {
            return Position::start_of(self.from.epoch.saturating_add(1));
        }
        Position { batch, ..self.from }
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
        rest(order, Position::start_of(epoch))
    }

    fn rest(order: &Order, from: Position) -> Vec<Chosen> {
        let share = order.share(from).unwrap();
        let chosen = (0..share.steps()).map(|step| order.chosen(share.batch(step)).unwrap());
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

    /// Batches of rows or groups by the number of their batch, with families in turns or without.
    fn orders(options: &RowsOptions) -> [Order; 3] {
        [
            order(&Units::Rows(103), options),
            order(&groups(), options),
            order(&Units::Rows(103), options).in_turns(Arc::from([80, 103])),
        ]
    }

    #[test]
    fn an_epoch_resumes_with_any_number_of_ranks() {
        let alone = orders(&RowsOptions::default().batch_rows(4));
        for (kind, alone) in alone.iter().enumerate() {
            let batches = alone.batches(3);
            let whole = epoch(alone, 3);
            for (before, after, steps) in resumptions(&[1, 2, 3, 4, 7], batches) {
                let of = |rank: u64, world: u64, pad: bool| {
                    let options = RowsOptions::default().batch_rows(4).pad(pad);
                    orders(&options.rank(rank, world))
                        .into_iter()
                        .nth(kind)
                        .unwrap()
                };
                // All ranks took so many steps, then another number of them goes on.
                let mut taken = Vec::new();
                let first = of(0, before, false).share(Position::start_of(3)).unwrap();
                let state = first.position(steps);
                for rank in 0..before {
                    let share = of(rank, before, false)
                        .share(Position::start_of(3))
                        .unwrap();
                    assert!(share.steps() == 0 || share.position(steps) == state);
                    let own = (0..steps.min(share.steps())).map(|step| share.batch(step).batch);
                    taken.extend(own);
                }
                if state.epoch == 3 {
                    for rank in 0..after {
                        let share = of(rank, after, false).share(state).unwrap();
                        taken.extend((0..share.steps()).map(|step| share.batch(step).batch));
                    }
                }
                taken.sort_unstable();
                assert!(
                    taken.iter().copied().eq(0..batches),
                    "{before} {after} {steps}"
                );
                // With padding every rank has as many, and what comes twice is marked.
                if state.epoch == 3 {
                    let padded: Vec<_> = (0..after).map(|rank| of(rank, after, true)).collect();
                    let shares = padded.iter().map(|order| order.share(state).unwrap());
                    let shares: Vec<_> = shares.collect();
                    assert!(
                        shares
                            .iter()
                            .all(|share| share.steps() == shares[0].steps())
                    );
                    let all = shares.iter().zip(&padded).flat_map(|(share, order)| {
                        (0..share.steps()).map(move |step| (order, share.batch(step)))
                    });
                    let (padding, own): (Vec<_>, Vec<_>) =
                        all.partition(|(order, at)| order.is_padding(*at));
                    let mut own: Vec<u64> = own.iter().map(|(_, at)| at.batch).collect();
                    own.sort_unstable();
                    assert!(own.into_iter().eq(state.batch..batches));
                    for (order, at) in padding {
                        let first =
                            &whole[usize::try_from(at.batch - batches).unwrap() % whole.len()];
                        assert_eq!(&order.chosen(at).unwrap(), first);
                    }
                }
            }
        }
    }

    /// Ranks before, ranks after, and steps of those before.
    fn resumptions(worlds: &[u64], batches: u64) -> Vec<(u64, u64, u64)> {
        let mut all = Vec::new();
        for &before in worlds {
            for &after in worlds {
                all.extend((0..=batches.div_ceil(before)).map(|steps| (before, after, steps)));
            }
        }
        all
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
        assert!(told.contains("epoch 0 has no batch 0: it has 0"), "{told}");
    }
}

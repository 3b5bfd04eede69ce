use super::*;
use crate::training::RowsOptions;

fn order(units: &Units, options: &RowsOptions) -> Order {
    Order::new(units.clone(), options.batch_rows, options.loader.clone())
}

fn epoch(order: &Order, epoch: u64) -> Vec<RowIndices> {
    rest(order, Position::start_of(epoch))
}

fn rest(order: &Order, from: Position) -> Vec<RowIndices> {
    let share = order.rank_share(from).unwrap();
    let chosen = (0..share.steps()).map(|step| order.batch_row_indices(share.batch(step)).unwrap());
    chosen.collect()
}

fn groups() -> Units {
    // 3, 1, 9, 2, 2, 5 rows.
    Units::Groups(Arc::from([3, 4, 13, 15, 17, 22]))
}

fn sort_rows(batches: &[RowIndices]) -> Vec<u64> {
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
                assert!(sort_rows(&epoch(&order, number)).into_iter().eq(0..22));
            }
        }
    }
}

#[test]
fn groups_stay_whole_and_fill_batches() {
    let options = RowsOptions::default().batch_rows(5);
    let order = order(&groups(), &options.clone().shuffle(false));
    let sizes = |batches: &[RowIndices]| -> Vec<Vec<u64>> {
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
        order(&Units::Rows(103), options).with_families(Arc::from([80, 103])),
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
            // All ranks run this number of steps, then another number of ranks resumes.
            let mut taken = Vec::new();
            let first = of(0, before, false)
                .rank_share(Position::start_of(3))
                .unwrap();
            let state = first.position(steps);
            for rank in 0..before {
                let share = of(rank, before, false)
                    .rank_share(Position::start_of(3))
                    .unwrap();
                assert!(share.steps() == 0 || share.position(steps) == state);
                let own = (0..steps.min(share.steps())).map(|step| share.batch(step).batch);
                taken.extend(own);
            }
            if state.epoch == 3 {
                for rank in 0..after {
                    let share = of(rank, after, false).rank_share(state).unwrap();
                    taken.extend((0..share.steps()).map(|step| share.batch(step).batch));
                }
            }
            taken.sort_unstable();
            assert!(
                taken.iter().copied().eq(0..batches),
                "{before} {after} {steps}"
            );
            // With padding every rank has the same number of batches, and repeated batches are marked.
            if state.epoch == 3 {
                let padded: Vec<_> = (0..after).map(|rank| of(rank, after, true)).collect();
                let shares = padded.iter().map(|order| order.rank_share(state).unwrap());
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
                    let first = &whole[usize::try_from(at.batch - batches).unwrap() % whole.len()];
                    assert_eq!(&order.batch_row_indices(at).unwrap(), first);
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
    let by_rows = order(&Units::Rows(22), &options).with_families(Arc::from([15, 22]));
    let by_groups = order(&groups(), &options).with_families(Arc::from([4, 6]));
    for number in 0..3 {
        let rows = sort_rows(&epoch(&by_rows, number));
        let least = rows.iter().filter(|row| **row < 15).count();
        assert_eq!((rows.len(), least), (22, 11));
        let batches = epoch(&by_groups, number);
        let sizes = batches
            .iter()
            .flat_map(|batch| batch.group_sizes.clone().unwrap());
        assert_eq!(sizes.count(), 6);
        let groups_of_second = batches.iter().flat_map(|batch| &batch.rows);
        // The groups of the second family have 2 and 5 rows, and occur three times in total.
        let rows = groups_of_second.filter(|row| **row >= 15).count();
        assert!([9, 12].contains(&rows), "{rows}");
        assert!(
            batches.iter().all(
                |batch| batch.rows.len() <= 4 || batch.group_sizes.as_ref().unwrap().len() == 1
            )
        );
    }
    let again = order(&Units::Rows(22), &options).with_families(Arc::from([15, 22]));
    assert_eq!(epoch(&by_rows, 2), epoch(&again, 2));
    for world in [2, 3] {
        let ranks = (0..world).map(|rank| {
            let options = options.clone().rank(rank, world);
            epoch(
                &order(&Units::Rows(22), &options).with_families(Arc::from([15, 22])),
                2,
            )
        });
        let ranks: Vec<_> = ranks.collect();
        let union = (0..ranks[0].len()).flat_map(|step| ranks.iter().map(move |rank| &rank[step]));
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
    let told = none
        .batch_row_indices(Position::default())
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("epoch 0 has no batch 0, expected a batch below 0"),
        "{told}"
    );
}

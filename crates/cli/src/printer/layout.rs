//! Widths of the columns of a table that is wider than the screen.
//!
//! The widest columns shrink first, to one common width. A number always has all its digits. If even the minimum widths
//! do not fit, columns in the middle are left out, and important ones last.

use std::cmp::Reverse;
use std::collections::VecDeque;

/// Width of a border with the spaces around it, for each column.
const BORDER: usize = 3;

/// Width of the column in place of the omitted ones.
const DOTS: usize = 1;

/// Natural and minimum width of a column, in terminal columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// Width of the widest value or of the name.
    pub(super) natural: usize,
    /// Minimum width at which values are readable.
    pub(super) least: usize,
    /// Rank of an important column, 0 for the most important one.
    pub(super) rank: Option<usize>,
}

/// A column of the printed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A column of the result, by its index.
    Column { index: usize, width: usize },
    /// Mark in place of the columns that do not fit.
    LeftOut,
}

impl Slot {
    pub(super) fn width(self) -> usize {
        match self {
            Self::Column { width, .. } => width,
            Self::LeftOut => DOTS,
        }
    }
}

/// Returns the columns with their natural widths.
pub(super) fn natural(needs: &[Need]) -> Vec<Slot> {
    let widths = needs.iter().map(|need| need.natural).enumerate();
    widths
        .map(|(index, width)| Slot::Column { index, width })
        .collect()
}

/// Returns the columns for lines of `width`, with a mark in place of omitted ones.
pub(super) fn fit_widths(needs: &[Need], width: usize) -> Vec<Slot> {
    let shown = choose_columns(needs, width);
    let room = width.saturating_sub(borders(&shown));
    let chosen = needs.iter().zip(&shown).filter(|(_, shown)| **shown);
    let chosen: Vec<Need> = chosen.map(|(need, _)| *need).collect();
    let mut widths = level_widths(&chosen, room).into_iter();
    let mut slots = Vec::new();
    for (index, shown) in shown.into_iter().enumerate() {
        if !shown {
            if slots.last() != Some(&Slot::LeftOut) {
                slots.push(Slot::LeftOut);
            }
        } else if let Some(width) = widths.next() {
            slots.push(Slot::Column { index, width });
        }
    }
    slots
}

/// Returns the width of the borders and of the marks in place of omitted columns.
fn borders(shown: &[bool]) -> usize {
    let columns = shown.iter().filter(|shown| **shown).count();
    let gaps = shown.chunk_by(|a, b| a == b);
    let gaps = gaps.filter(|part| part.first() == Some(&false)).count();
    1 + columns * BORDER + gaps * (DOTS + BORDER)
}

/// Returns for each column whether it is shown: all columns that fit with their minimum widths, at least one.
fn choose_columns(needs: &[Need], width: usize) -> Vec<bool> {
    let mut shown = vec![true; needs.len()];
    let mut order = removal_order(needs);
    order.pop();
    for index in order {
        let columns = needs.iter().zip(&shown).filter(|(_, shown)| **shown);
        let least: usize = columns.map(|(need, _)| need.least).sum();
        if least + borders(&shown) <= width {
            break;
        }
        if let Some(shown) = shown.get_mut(index) {
            *shown = false;
        }
    }
    shown
}

/// Returns the columns in the order in which they are left out: from the middle to both ends, then the important ones
/// from the least important one.
fn removal_order(needs: &[Need]) -> Vec<usize> {
    let mut columns: VecDeque<usize> = (0..needs.len()).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(first) = columns.pop_front() {
        order.push(first);
        order.extend(columns.pop_back());
    }
    order.reverse();
    let rank = |index: &usize| needs.get(*index).and_then(|need| need.rank);
    order.sort_by_key(|index| rank(index).map(Reverse));
    order
}

/// Returns the widths of the columns, with a sum of at most `room`.
fn level_widths(needs: &[Need], room: usize) -> Vec<usize> {
    let at = |level: usize| {
        let each = needs.iter();
        each.map(move |need| need.natural.min(level.max(need.least)))
    };
    let level = (0..=room)
        .rev()
        .find(|level| at(*level).sum::<usize>() <= room);
    let Some(level) = level else {
        // A single column is wider than the screen.
        return needs
            .iter()
            .map(|need| need.natural.min(room.max(1)))
            .collect();
    };
    let mut left = room.saturating_sub(at(level).sum());
    let widths = at(level).zip(needs).map(|(width, need)| {
        let more = usize::from(left > 0 && width == level && need.natural > width);
        left -= more;
        width + more
    });
    widths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(needs: &[(usize, usize)], width: usize) -> Vec<Option<usize>> {
        let needs: Vec<Need> = needs
            .iter()
            .map(|&(natural, least)| Need {
                natural,
                least,
                rank: None,
            })
            .collect();
        let slots = fit_widths(&needs, width);
        let total: usize = slots.iter().map(|slot| slot.width() + BORDER).sum();
        assert!(total < width.max(6), "{slots:?}");
        let width = |slot: &Slot| match slot {
            Slot::Column { width, .. } => Some(*width),
            Slot::LeftOut => None,
        };
        slots.iter().map(width).collect()
    }

    #[test]
    fn columns_that_fit_have_their_natural_widths() {
        assert_eq!(widths(&[(5, 5), (20, 8)], 32), [Some(5), Some(20)]);
    }

    #[test]
    fn the_widest_columns_shrink_first() {
        let needs = [(12, 12), (60, 8), (10, 8), (40, 8)];
        let wanted = [Some(12), Some(23), Some(10), Some(22)];
        assert_eq!(widths(&needs, 80), wanted);
    }

    #[test]
    fn columns_in_the_middle_are_left_out() {
        let needs = [(10, 10); 10];
        let wanted = [Some(10), Some(10), Some(10), None, Some(10), Some(10)];
        assert_eq!(widths(&needs, 80), wanted);
        assert_eq!(widths(&[(10, 10); 2], 15), [Some(7), None]);
    }

    #[test]
    fn important_columns_are_left_out_last() {
        let ranks = [None, None, Some(1), None, Some(0), None, None];
        let needs = ranks.map(|rank| Need {
            natural: 10,
            least: 10,
            rank,
        });
        let shown = |width: usize| -> String {
            let mark = |slot: &Slot| match slot {
                Slot::Column { index, .. } => index.to_string(),
                Slot::LeftOut => "…".to_owned(),
            };
            fit_widths(&needs, width).iter().map(mark).collect()
        };
        let wanted = ["0123456", "012…456", "012…4…6", "0…2…4…", "…2…4…", "…4…"];
        assert_eq!([92, 91, 80, 60, 39, 38].map(shown), wanted);
    }
}

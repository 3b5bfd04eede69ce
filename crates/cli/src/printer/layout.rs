//! Widths of the columns of a table that is wider than the screen.
//!
//! The widest columns shrink first, to one common width. A number always has all its digits. If even the minimum widths
//! do not fit, columns in the middle are left out.

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

/// Returns the columns for lines of `width`.
pub(super) fn fit_widths(needs: &[Need], width: usize) -> Vec<Slot> {
    let (front, back) = count_fitting(needs, width);
    let leaves_out = front + back < needs.len();
    let chosen = |index: &usize| *index < front || *index >= needs.len() - back;
    let chosen: Vec<(usize, Need)> = needs
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, _)| chosen(index))
        .collect();
    let room = width.saturating_sub(borders(chosen.len(), leaves_out));
    let needs: Vec<Need> = chosen.iter().map(|(_, need)| *need).collect();
    let widths = level_widths(&needs, room);
    let mut slots: Vec<Slot> = chosen
        .iter()
        .zip(widths)
        .map(|((index, _), width)| Slot::Column {
            index: *index,
            width,
        })
        .collect();
    if leaves_out {
        slots.insert(front, Slot::LeftOut);
    }
    slots
}

fn borders(columns: usize, leaves_out: bool) -> usize {
    let dots = if leaves_out { DOTS + BORDER } else { 0 };
    1 + columns * BORDER + dots
}

/// Returns the numbers of first and last columns that fit with their minimum widths; at least one column in total.
fn count_fitting(needs: &[Need], width: usize) -> (usize, usize) {
    let mut back = needs.len() / 2;
    let mut front = needs.len() - back;
    let least = |front: usize, back: usize| {
        let first = needs.iter().take(front);
        let last = needs.iter().rev().take(back);
        let sum: usize = first.chain(last).map(|need| need.least).sum();
        sum + borders(front + back, front + back < needs.len())
    };
    while front + back > 1 && least(front, back) > width {
        if back >= front {
            back -= 1;
        } else {
            front -= 1;
        }
    }
    (front, back)
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
            .map(|&(natural, least)| Need { natural, least })
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
}

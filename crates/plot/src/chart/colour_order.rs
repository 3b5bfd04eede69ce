//! Colours by name: the same for any order of rows, and in all plots with the same known names.

use std::cmp::Ordering;

/// Placeholder of a missing name.
pub(crate) const NO_NAME: &str = "(none)";

/// Index of the colour of each name.
///
/// It is the position among the `known` names, if they contain all names, and otherwise the position in the sorted list
/// of the names.
pub(crate) fn colour_indices(names: &[String], known: &[String]) -> Vec<usize> {
    let is_known = |name: &String| name == NO_NAME || known.contains(name);
    let mut order: Vec<&String> = match names.iter().all(is_known) {
        true => known.iter().chain(names).collect(),
        false => names.iter().collect(),
    };
    order.sort_by(|left, right| compare_names(left, right));
    order.dedup();
    let position = |name: &String| order.iter().position(|other| *other == name);
    names
        .iter()
        .map(|name| position(name).unwrap_or_default())
        .collect()
}

/// Compares names as people sort them: `2` before `10`, `p2` before `p10`, and missing names last.
pub(crate) fn compare_names(left: &str, right: &str) -> Ordering {
    let missing = |name: &str| name == NO_NAME;
    let number = |name: &str| name.parse::<f64>().ok();
    missing(left)
        .cmp(&missing(right))
        .then_with(|| match (number(left), number(right)) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            _ => compare_parts(left, right),
        })
        .then_with(|| left.cmp(right))
}

fn compare_parts(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (parts(left), parts(right));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => match (left.as_deref(), right.as_deref()) {
                (Some(left), Some(right)) => match (left.parse::<u64>(), right.parse::<u64>()) {
                    (Ok(left), Ok(right)) => left.cmp(&right),
                    _ => left.cmp(right),
                },
                (left, right) => left.is_some().cmp(&right.is_some()),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Parts of a name: runs of digits, and other runs.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut characters = name.chars().peekable();
    std::iter::from_fn(move || {
        let first = characters.next()?;
        let mut part = String::from(first);
        while let Some(next) =
            characters.next_if(|next| next.is_ascii_digit() == first.is_ascii_digit())
        {
            part.push(next);
        }
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn colours_do_not_depend_on_the_order_of_names() {
        assert_eq!(
            colour_indices(&names(&["t4", "k80", NO_NAME]), &[]),
            [1, 0, 2]
        );
        assert_eq!(
            colour_indices(&names(&[NO_NAME, "k80", "t4"]), &[]),
            [2, 0, 1]
        );
        assert_eq!(
            colour_indices(&names(&["10", "9", "0.5", "0.25"]), &[]),
            [3, 2, 1, 0]
        );
        assert_eq!(colour_indices(&names(&["p10", "p2", "p"]), &[]), [2, 1, 0]);
    }

    #[test]
    fn known_names_keep_their_colour_in_plots_without_the_others() {
        let known = names(&["a100", "k80", "t4"]);
        assert_eq!(colour_indices(&names(&["t4"]), &known), [2]);
        assert_eq!(colour_indices(&names(&["t4", NO_NAME]), &known), [2, 3]);
        assert_eq!(colour_indices(&names(&["ok", "failed"]), &known), [1, 0]);
    }
}

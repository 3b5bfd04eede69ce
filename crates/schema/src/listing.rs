//! Order of tables and importance of columns in lists for people.

use super::relations;

/// Tables that lists begin with, by their SQL names.
pub const FIRST_LISTED: [&str; 5] = [
    "records",
    "graphs",
    "configurations",
    "environments",
    "sources",
];

/// Returns the sort key of a table or view in a list for people: important ones first, then by name.
#[must_use]
pub fn list_order(name: &str) -> (usize, &str) {
    let place = FIRST_LISTED.iter().position(|first| *first == name);
    (place.unwrap_or(FIRST_LISTED.len()), name)
}

/// Returns the rank of a column among the important ones of its table, 0 for the most important one. `None` for others.
///
/// A result does not state the tables of its columns. A name that is important in several tables has its lowest rank.
#[must_use]
pub fn column_rank(name: &str) -> Option<usize> {
    let all = relations().into_iter().flatten();
    let ranks = all.filter_map(|relation| relation.important.iter().position(|own| own == name));
    ranks.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn important_columns_are_shown_columns_of_their_table() {
        let mut seen = 0;
        for relation in relations().unwrap() {
            for name in relation.important {
                let mut shown = relation.shown_columns();
                assert!(shown.any(|column| &column.name == name), "{name}");
                seen += 1;
            }
        }
        assert!(seen > 0);
        assert_eq!(column_rank("runtime_ns"), Some(0));
        assert_eq!(column_rank("line"), None);
    }

    #[test]
    fn lists_begin_with_tables_that_exist() {
        for name in FIRST_LISTED {
            assert!(crate::relation(name).is_some(), "{name}");
        }
        assert!(list_order("records") < list_order("blocks"));
    }
}

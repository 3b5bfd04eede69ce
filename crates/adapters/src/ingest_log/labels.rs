//! User labels of files: `key=value`, one per line in the ingest log.

use std::collections::{BTreeMap, HashMap};

use tsql_error::{Error, Result};

/// Maximum key length in characters.
const LONGEST_KEY: usize = 100;

/// Maximum value length in characters.
const LONGEST_VALUE: usize = 1000;

/// Labels of a file, with unique keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Validates labels.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an invalid key or value, and for a key with two values.
    pub fn new<'a>(given: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let refused = |reason| Error::Argument {
            name: "label",
            reason,
        };
        let mut labels = BTreeMap::new();
        for (key, value) in given {
            check(key, value).map_err(refused)?;
            let before = labels.insert(key.to_owned(), value.to_owned());
            if let Some(before) = before.filter(|before| before != value) {
                let reason = format!(
                    "`{key}` is given twice, with `{before}` and `{value}`\nhint: a key has one value"
                );
                return Err(refused(reason));
            }
        }
        Ok(Self(labels))
    }

    /// Parses labels of an ingest: collection, split and others.
    ///
    /// # Errors
    /// Labels that cannot be stored.
    pub fn from_pairs(given: &[(String, String)]) -> Result<Self> {
        Self::new(
            given
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        )
    }

    /// Adds other labels. Their values take precedence.
    pub fn merge(mut self, others: &Self) -> Self {
        let others = others.0.iter();
        self.0
            .extend(others.map(|(key, value)| (key.clone(), value.clone())));
        self
    }

    /// Stored form. `None` if there are no labels.
    pub fn text(&self) -> Option<String> {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Parses the stored form, undoing [`text`](Self::text).
    pub fn parse(text: &str) -> Self {
        let labels = text.lines().filter_map(|line| line.split_once('='));
        Self(
            labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    /// Returns the labels by name.
    pub fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }
}

/// Labels that a run assigns to files.
#[derive(Clone, Debug, Default)]
pub struct Labelling {
    /// Labels of all files.
    pub all: Labels,
    /// Labels of single files before their export, by path.
    pub recalled: HashMap<String, Labels>,
}

impl Labelling {
    /// Stored form of the labels of a file.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.recalled.get(path) {
            Some(recalled) => recalled.clone().merge(&self.all).text(),
            None => self.all.text(),
        }
    }
}

/// Splits `key=value`.
///
/// # Errors
///
/// The reason why it is not a label, with a hint.
pub fn parse(text: &str) -> std::result::Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        format!("`{text}` has no `=`\nhint: a label is KEY=VALUE, such as night=7")
    })?;
    check(key, value)?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Validates a label. Returns the reason with a hint.
fn check(key: &str, value: &str) -> std::result::Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if key.is_empty() || key.len() > LONGEST_KEY || !key.chars().all(is_plain) {
        return Err(format!(
            "`{key}` is not a valid key of a label\n\
             hint: use at most {LONGEST_KEY} characters a-z, A-Z, 0-9 and . - _"
        ));
    }
    if value.is_empty() {
        return Err(format!(
            "`{key}` has no value\nhint: a label is KEY=VALUE, such as night=7"
        ));
    }
    if value.chars().count() > LONGEST_VALUE || value.chars().any(char::is_control) {
        return Err(format!(
            "the value of `{key}` is not valid\n\
             hint: use one line of at most {LONGEST_VALUE} characters; `tsql note create` stores \
             longer texts"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_lines_that_come_back() {
        let given = [("night", "7"), ("driver", "a=b \u{e9}"), ("a.b-c_D", " ")];
        let labels = Labels::new(given).unwrap();
        let text = labels.text().unwrap();
        assert_eq!(text, "a.b-c_D= \ndriver=a=b \u{e9}\nnight=7");
        assert_eq!(Labels::parse(&text), labels);
        assert_eq!(Labels::default().text(), None);
        let later = Labels::new([("night", "8")]).unwrap();
        let both = labels.merge(&later).text().unwrap();
        assert!(both.ends_with("\nnight=8"), "{both}");
    }

    #[test]
    fn invalid_labels_are_rejected_with_a_hint() {
        for text in [
            "night",
            "=7",
            "a b=7",
            "n\u{e4}cht=7",
            "night=",
            "night=7\n8",
            "night=\u{1b}[2J",
        ] {
            assert!(parse(text).unwrap_err().contains("\nhint: "), "{text}");
        }
        assert!(parse(&format!("{}=1", "k".repeat(101))).is_err());
        assert!(parse(&format!("k={}", "v".repeat(1001))).is_err());
        assert_eq!(parse("k=a=b"), Ok(("k".to_owned(), "a=b".to_owned())));
        let twice = Labels::new([("night", "7"), ("night", "8")]).unwrap_err();
        assert!(twice.to_string().contains("given twice"), "{twice}");
        assert!(Labels::new([("night", "7"), ("night", "7")]).is_ok());
    }
}

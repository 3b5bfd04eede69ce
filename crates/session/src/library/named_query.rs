//! A named query, parsed from its file.

use std::path::PathBuf;

use serde::Serialize;

/// A named query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NamedQuery {
    /// Its name.
    pub name: String,
    /// Title.
    pub title: String,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Tables that must be provided as files: name and description.
    pub files: Vec<(String, String)>,
    /// Rows required for a result.
    pub needs: Vec<RequiredRows>,
    /// Chart of the result: `kind=bar x=platform y=record_count`.
    pub plot: Option<String>,
    /// SQL text with `$NAME` placeholders.
    pub sql: String,
    /// Source file; `None` for built-in queries.
    pub path: Option<PathBuf>,
}

/// A parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Default value; `None` for a platform, which is then chosen from the store.
    pub default: Option<String>,
    /// Description.
    pub doc: String,
}

/// Rows that a query requires for a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequiredRows {
    /// The table, with a condition if not all rows count: `records WHERE dataset = 'tenset'`.
    pub rows: String,
    /// Description of the rows.
    pub doc: String,
}

impl NamedQuery {
    pub(super) fn parse(name: &str, sql: &str) -> Self {
        let mut question = Self {
            name: name.to_owned(),
            title: name.to_owned(),
            parameters: Vec::new(),
            files: Vec::new(),
            needs: Vec::new(),
            plot: None,
            sql: sql.to_owned(),
            path: None,
        };
        let mut comments = sql.lines().map_while(|line| line.strip_prefix("-- "));
        if let Some(title) = comments.next() {
            title.trim().clone_into(&mut question.title);
        }
        for comment in comments {
            question.parse_comment(comment);
        }
        question
    }

    /// SQL that references all tables of the query and of its requirements.
    #[must_use]
    pub fn referenced_sql(&self) -> String {
        let needs = self.needs.iter();
        let needs = needs.map(|need| format!(";SELECT 1 FROM {}", need.rows));
        let own = [format!("{}\n", self.sql)].into_iter();
        own.chain(needs).collect()
    }

    /// Parses a comment line; other comments are for readers of the file.
    fn parse_comment(&mut self, comment: &str) -> Option<()> {
        let (kind, rest) = comment.split_once(' ')?;
        if kind == "plot:" {
            self.plot = Some(rest.trim().to_owned());
            return Some(());
        }
        let (what, doc) = rest.split_once(" : ")?;
        let (what, doc) = (what.trim(), doc.trim().to_owned());
        match kind {
            "file" => self.files.push((what.to_owned(), doc)),
            "needs" => self.needs.push(RequiredRows {
                rows: what.to_owned(),
                doc,
            }),
            "platform" => self.parameters.push(Parameter {
                name: what.to_owned(),
                default: None,
                doc,
            }),
            "parameter" => {
                let (name, default) = what.split_once(" = ")?;
                self.parameters.push(Parameter {
                    name: name.trim().to_owned(),
                    default: Some(default.trim().to_owned()),
                    doc,
                });
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_define_parameters_and_requirements() {
        let text = "-- Title.\n-- parameter k = 5 : how many\n-- platform p : where\n-- Nothing : of it\n\
            -- needs records WHERE dataset = 'tenset' : records of TenSet\n-- file f : mine\n\
            -- plot: kind=bar x=a\nSELECT $k";
        let question = NamedQuery::parse("q", text);
        assert_eq!(question.title, "Title.");
        assert_eq!(question.plot.as_deref(), Some("kind=bar x=a"));
        let parameters = question.parameters.iter();
        let parameters = parameters.map(|set| (set.name.as_str(), set.default.as_deref()));
        assert_eq!(
            parameters.collect::<Vec<_>>(),
            [("k", Some("5")), ("p", None)]
        );
        assert_eq!(question.files, [("f".to_owned(), "mine".to_owned())]);
        let needs = question.needs.iter();
        let needs = needs.map(|need| (need.rows.as_str(), need.doc.as_str()));
        assert_eq!(
            needs.collect::<Vec<_>>(),
            [("records WHERE dataset = 'tenset'", "records of TenSet")]
        );
    }
}

//! A question: what its file says.

use serde::Serialize;
use std::path::PathBuf;

/// A question with its SQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Question {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub title: String,
    /// What can be set.
    pub parameters: Vec<Parameter>,
    /// Tables that must be given as files: name and meaning.
    pub files: Vec<(String, String)>,
    /// What the store must have for an answer.
    pub needs: Vec<Need>,
    /// The picture that shows its answer: `kind=bar x=platform y=record_count`.
    pub plot: Option<String>,
    /// The query with `$NAME` placeholders.
    pub sql: String,
    /// The file that it comes from; `None` for those that come with tsql.
    pub path: Option<PathBuf>,
}

/// A value that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value where none is given; `None` for a platform, which is one of the store then.
    pub default: Option<String>,
    /// What it is.
    pub doc: String,
}

/// Rows without which a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Need {
    /// The table, with a condition where not all rows count: `records WHERE dataset = 'tenset'`.
    pub rows: String,
    /// What they are, in words.
    pub doc: String,
}

impl Question {
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
            question.said(comment);
        }
        question
    }

    /// Its SQL with what it needs, by which the tables are known that it may look at.
    #[must_use]
    pub fn names(&self) -> String {
        let needs = self.needs.iter();
        let needs = needs.map(|need| format!(";SELECT 1 FROM {}", need.rows));
        let own = [format!("{}\n", self.sql)].into_iter();
        own.chain(needs).collect()
    }

    /// Takes what a comment line says; others are for whoever reads the file.
    fn said(&mut self, comment: &str) -> Option<()> {
        let (kind, rest) = comment.split_once(' ')?;
        if kind == "plot:" {
            self.plot = Some(rest.trim().to_owned());
            return Some(());
        }
        let (what, doc) = rest.split_once(" : ")?;
        let (what, doc) = (what.trim(), doc.trim().to_owned());
        match kind {
            "file" => self.files.push((what.to_owned(), doc)),
            "needs" => self.needs.push(Need {
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
    fn comments_say_what_can_be_set_and_what_is_needed() {
        let text = "-- Title.\n-- parameter k = 5 : how many\n-- platform p : where\n-- Nothing : of it\n\
            -- needs records WHERE dataset = 'tenset' : records of TenSet\n-- file f : mine\n\
            -- plot: kind=bar x=a\nSELECT $k";
        let question = Question::parse("q", text);
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

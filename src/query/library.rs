//! The ready-made questions of `queries/`.
//!
//! A file is named by its question. Its first comment line is the title, lines
//! `-- parameter NAME = DEFAULT : meaning` follow, then one `SELECT` with `$NAME` placeholders. A
//! line `-- file NAME : meaning` names a table that the user brings.

use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;

use crate::error::{Error, Result};

macro_rules! questions {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../queries/", $name, ".sql")))),*]
    };
}

/// Name and text of each, by name. A test compares it with the folder.
const FILES: &[(&str, &str)] = &questions![
    "best-program-elsewhere",
    "best-program-per-graph",
    "best-sketch-per-graph",
    "cross-platform-pairs",
    "duplicate-programs",
    "failures-by-kind",
    "graphnet-conv-batchnorm",
    "graphnet-duplicates",
    "graphnet-ops",
    "graphnet-parameters",
    "graphnet-regressions",
    "graphnet-scores",
    "graphnet-status",
    "noisiest-records",
    "platform-summary",
    "rejected-lines",
    "repeat-statistics",
    "sources",
    "speed-over-time",
    "tenset-labels",
    "tenset-labels-valid",
    "top-k-per-graph",
    "tpugraphs-collections",
    "tpugraphs-noise",
    "tpugraphs-ops",
    "tpugraphs-score",
];

/// A question with its SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub title: String,
    /// What can be set.
    pub parameters: Vec<Parameter>,
    /// Tables that must be given as files: name and meaning.
    pub files: Vec<(String, String)>,
    /// The query with `$NAME` placeholders.
    pub sql: &'static str,
}

/// A value that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value where none is given.
    pub default: String,
    /// What it is.
    pub doc: String,
}

impl Question {
    fn parse(name: &'static str, sql: &'static str) -> Self {
        let mut comments = sql.lines().map_while(|line| line.strip_prefix("-- "));
        let title = comments.next().unwrap_or(name).to_owned();
        let files = comments.clone().filter_map(|comment| {
            let (name, doc) = comment.strip_prefix("file ")?.split_once(" : ")?;
            Some((name.trim().to_owned(), doc.trim().to_owned()))
        });
        let files = files.collect();
        let parameters = comments.filter_map(|comment| {
            let (name, rest) = comment.strip_prefix("parameter ")?.split_once(" = ")?;
            let (default, doc) = rest.split_once(" : ")?;
            Some(Parameter {
                name: name.trim().to_owned(),
                default: default.trim().to_owned(),
                doc: doc.trim().to_owned(),
            })
        });
        Self {
            name,
            title,
            parameters: parameters.collect(),
            files,
            sql,
        }
    }

    /// The values of all placeholders: `given` ones (`NAME`, value) and defaults. A value that is
    /// a number is one in the query too.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that the question does not have.
    pub fn values(&self, given: &[(String, String)]) -> Result<ParamValues> {
        for (name, _) in given {
            let parameters = self.parameters.iter();
            let files = self.files.iter().map(|(name, _)| name.as_str());
            let known = parameters
                .map(|parameter| parameter.name.as_str())
                .chain(files);
            let known: Vec<&str> = known.collect();
            if !known.contains(&name.as_str()) {
                let (kind, name, known) = ("parameter", name.clone(), known.join(", "));
                return Err(Error::Unknown { kind, name, known });
            }
        }
        let value = |parameter: &Parameter| {
            let given = given.iter().rev().find(|(name, _)| name == &parameter.name);
            let text = given.map_or(&parameter.default, |(_, value)| value);
            (parameter.name.clone(), scalar(text))
        };
        Ok(ParamValues::from(
            self.parameters.iter().map(value).collect::<Vec<_>>(),
        ))
    }
}

impl Question {
    /// Runs the question with the `given` values and files; the latter become tables of `context`.
    ///
    /// # Errors
    /// [`Error::Usage`] where a file is not given, [`Error::Unknown`] for a name that the question
    /// does not have, [`Error::Query`] where a file cannot be read.
    pub async fn ask(
        &self,
        context: &SessionContext,
        given: &[(String, String)],
    ) -> Result<DataFrame> {
        let values = self.values(given)?;
        for (name, doc) in &self.files {
            let path = given.iter().rev().find(|(given, _)| given == name);
            let Some((_, path)) = path else {
                let own = self.name;
                return Err(Error::Usage(format!(
                    "{own} needs a file\nhint: --set {name}=FILE, {doc}"
                )));
            };
            let sql = format!("SELECT * FROM '{}'", path.replace('\'', "''"));
            let table = context.sql(&sql).await.map_err(Error::Query)?.into_view();
            context
                .register_table(name.as_str(), table)
                .map_err(Error::Query)?;
        }
        let frame = context.sql(self.sql).await.map_err(Error::Query)?;
        frame.with_param_values(values).map_err(Error::Query)
    }
}

fn scalar(text: &str) -> ScalarValue {
    if let Ok(integer) = text.parse::<i64>() {
        return ScalarValue::Int64(Some(integer));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => ScalarValue::Float64(Some(number)),
        _ => ScalarValue::Utf8(Some(text.to_owned())),
    }
}

/// All questions, by name.
#[must_use]
pub fn questions() -> Vec<Question> {
    FILES
        .iter()
        .map(|(name, sql)| Question::parse(name, sql))
        .collect()
}

/// The question of this name.
///
/// # Errors
/// [`Error::Unknown`] where there is none.
pub fn question(name: &str) -> Result<Question> {
    let found = questions()
        .into_iter()
        .find(|question| question.name == name);
    found.ok_or_else(|| Error::Unknown {
        kind: "question",
        name: name.to_owned(),
        known: questions()
            .iter()
            .map(|question| question.name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/queries")).unwrap();
        let mut names: Vec<String> = folder
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut listed: Vec<String> = questions()
            .iter()
            .map(|question| format!("{}.sql", question.name))
            .collect();
        listed.sort();
        assert_eq!(names, listed);
    }

    #[test]
    fn values_are_given_or_default() {
        let question = Question::parse("q", "-- Title.\n-- parameter k = 5 : how many\nSELECT $k");
        assert_eq!(question.title, "Title.");
        let value = |given: &[(String, String)]| format!("{:?}", question.values(given).unwrap());
        assert!(value(&[]).contains("Int64(5)"));
        assert!(value(&[("k".into(), "x".into())]).contains('x'));
        assert!(question.values(&[("j".into(), "1".into())]).is_err());
    }
}

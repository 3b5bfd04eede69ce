//! The ready-made questions of `queries/`.
//!
//! A file is named by its question. Its first comment line is the title, lines
//! `-- parameter NAME = DEFAULT : meaning` follow, then one `SELECT` with `$NAME` placeholders. A
//! line `-- platform NAME : meaning` is a parameter whose value is a platform of the store; where none is
//! given, it is the only one. A line `-- file NAME : meaning` names a table that the user brings.

use arrow::array::AsArray as _;
use arrow::datatypes::DataType;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::prelude::SessionContext;

use super::{SessionOptions, collect, frame};
use crate::error::{Error, Result};
use crate::store::Store;

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
    "network-latency",
    "noisiest-records",
    "platform-summary",
    "rejected-lines",
    "repeat-statistics",
    "sources",
    "speed-over-time",
    "task-gflops",
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value where none is given; `None` for a platform, which is the only one of the store then.
    pub default: Option<String>,
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
            let (name, default, doc) = if let Some(rest) = comment.strip_prefix("platform ") {
                let (name, doc) = rest.split_once(" : ")?;
                (name, None, doc)
            } else {
                let (name, rest) = comment.strip_prefix("parameter ")?.split_once(" = ")?;
                let (default, doc) = rest.split_once(" : ")?;
                (name, Some(default.trim().to_owned()), doc)
            };
            Some(Parameter {
                name: name.trim().to_owned(),
                default,
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

    /// Runs the question with the `given` values and files; the latter become tables of `context`.
    /// A value takes the type that the query compares it with.
    ///
    /// # Errors
    /// [`Error::Argument`] where a file is not given, or a value is none; [`Error::Ambiguous`] where the platform
    /// is not known, [`Error::Empty`] where there is none; [`Error::Unknown`]
    /// for a name or a platform that there is not; [`Error::Query`] where a file cannot be read.
    pub async fn ask(
        &self,
        context: &SessionContext,
        given: &[(String, String)],
    ) -> Result<DataFrame> {
        self.know(given)?;
        for (name, doc) in &self.files {
            let Some(path) = last(given, name) else {
                let own = self.name;
                let reason = format!("{own} needs a file\nhint: --set {name}=FILE, {doc}");
                return Err(Error::Argument {
                    name: "set",
                    reason,
                });
            };
            let sql = format!("SELECT * FROM '{}'", path.replace('\'', "''"));
            let table = context.sql(&sql).await.map_err(Error::Query)?.into_view();
            context
                .register_table(name.as_str(), table)
                .map_err(Error::Query)?;
        }
        let texts = self.texts(context, given).await?;
        let frame = frame(context, self.sql).await?;
        let types = frame.logical_plan().get_parameter_types();
        let types = types.map_err(Error::Query)?;
        let values = texts.into_iter().map(|(name, text)| {
            let wanted = types.get(&format!("${name}")).and_then(Option::as_ref);
            value(&name, &text, wanted).map(|value| (name, value))
        });
        let values = ParamValues::from(values.collect::<Result<Vec<_>>>()?);
        frame.with_param_values(values).map_err(Error::Query)
    }

    /// # Errors
    /// [`Error::Unknown`] for a name that the question does not have.
    fn know(&self, given: &[(String, String)]) -> Result<()> {
        let parameters = self.parameters.iter();
        let files = self.files.iter().map(|(name, _)| name.as_str());
        let known = parameters.map(|parameter| parameter.name.as_str());
        let known: Vec<&str> = known.chain(files).collect();
        match given
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()))
        {
            None => Ok(()),
            Some((name, _)) => Err(Error::Unknown {
                kind: "parameter",
                name: name.clone(),
                known: known.join(", "),
            }),
        }
    }

    /// The values of all parameters: `given` ones, defaults, and platforms of the store.
    async fn texts(
        &self,
        context: &SessionContext,
        given: &[(String, String)],
    ) -> Result<Vec<(String, String)>> {
        let is_platform = |parameter: &&Parameter| parameter.default.is_none();
        let mut platforms = Vec::new();
        if self
            .parameters
            .iter()
            .any(|parameter| is_platform(&parameter))
        {
            platforms = of_store(context).await?;
        }
        let (mut texts, mut missing) = (Vec::new(), Vec::new());
        let mut left = platforms.clone();
        for parameter in &self.parameters {
            let text = last(given, &parameter.name);
            if let (Some(name), true) = (text, is_platform(&parameter)) {
                if !platforms.iter().any(|platform| platform == name) {
                    return Err(Error::Unknown {
                        kind: "platform",
                        name: name.to_owned(),
                        known: platforms.join(", "),
                    });
                }
                left.retain(|platform| platform != name);
            }
            match text.or(parameter.default.as_deref()) {
                Some(text) => texts.push((parameter.name.clone(), text.to_owned())),
                None => missing.push(parameter.name.clone()),
            }
        }
        if missing.len() != left.len() && !missing.is_empty() {
            return Err(self.which(&missing, &platforms, &left));
        }
        texts.extend(missing.into_iter().zip(left));
        Ok(texts)
    }

    /// The question cannot know which platforms are meant.
    fn which(&self, missing: &[String], platforms: &[String], left: &[String]) -> Error {
        let own = self.name;
        if platforms.is_empty() {
            return Error::Empty(format!("{own} is about records, the store has none"));
        }
        let some = left.iter().chain(platforms);
        let set = missing.iter().zip(some);
        let set = set.map(|(name, platform)| format!("--set {name}={platform}"));
        let (set, platforms) = (set.collect::<Vec<_>>().join(" "), platforms.join(", "));
        Error::Ambiguous(format!(
            "{own} does not know which platform is meant, there are {platforms}\nhint: {set}"
        ))
    }
}

/// The last value that was given for a name.
fn last<'a>(given: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = given.iter().rev().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

/// The platforms that a store has records of, by name.
///
/// # Errors
/// As [`Store::session`].
pub async fn platforms(store: &Store) -> Result<Vec<String>> {
    let options = SessionOptions::default().sql("SELECT platform FROM records");
    of_store(&store.session_with(&options).await?).await
}

/// The platforms that the store has records of.
async fn of_store(context: &SessionContext) -> Result<Vec<String>> {
    let sql =
        "SELECT DISTINCT CAST(platform AS VARCHAR) AS platform FROM records ORDER BY platform";
    let mut platforms = Vec::new();
    for batch in collect(context, sql).await? {
        let names = arrow::compute::cast(batch.column(0), &DataType::Utf8View);
        let names = names.map_err(|error| Error::Query(error.into()))?;
        let names = names.as_string_view().iter().flatten();
        platforms.extend(names.map(str::to_owned));
    }
    Ok(platforms)
}

/// The value that a text is where this type is wanted; where none is known, a number if it is one.
fn value(name: &str, text: &str, wanted: Option<&DataType>) -> Result<ScalarValue> {
    let Some(wanted) = wanted else {
        return Ok(guessed(text));
    };
    let value = ScalarValue::try_from_string(text.to_owned(), wanted);
    value.map_err(|_| Error::Argument {
        name: "set",
        reason: format!("`{text}` is no value of {name}, which is {wanted}"),
    })
}

fn guessed(text: &str) -> ScalarValue {
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
            .chain(["duckdb-views.sql".to_owned()])
            .collect();
        listed.sort();
        assert_eq!(names, listed);
    }

    #[test]
    fn comments_say_what_can_be_set() {
        let text = "-- Title.\n-- parameter k = 5 : how many\n-- platform p : where\nSELECT $k";
        let question = Question::parse("q", text);
        assert_eq!(question.title, "Title.");
        let parameters = question.parameters.iter();
        let parameters = parameters.map(|set| (set.name.as_str(), set.default.as_deref()));
        assert_eq!(
            parameters.collect::<Vec<_>>(),
            [("k", Some("5")), ("p", None)]
        );
    }

    /// One record of each platform.
    async fn of_platforms(platforms: &[&str]) -> SessionContext {
        let context = SessionContext::new();
        let rows: Vec<String> = platforms
            .iter()
            .map(|name| format!("('{name}', 1.5)"))
            .collect();
        let sql = format!(
            "CREATE VIEW records AS SELECT * FROM (VALUES {}) AS v(platform, ns)",
            rows.join(", ")
        );
        context.sql(&sql).await.unwrap().collect().await.unwrap();
        context
    }

    async fn asked(
        platforms: &[&str],
        text: &'static str,
        given: &[(&str, &str)],
    ) -> Result<usize> {
        let context = of_platforms(platforms).await;
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let given: Vec<_> = given.collect();
        let frame = Question::parse("q", text).ask(&context, &given).await?;
        frame.count().await.map_err(Error::Query)
    }

    #[tokio::test]
    async fn a_platform_is_the_only_one_or_has_to_be_said() {
        let one = "-- One.\n-- platform p : where\nSELECT * FROM records WHERE platform = $p";
        assert_eq!(asked(&["100"], one, &[]).await.unwrap(), 1);
        assert_eq!(asked(&["100", "a"], one, &[("p", "100")]).await.unwrap(), 1);
        let unclear = asked(&["a", "b"], one, &[]).await.unwrap_err().to_string();
        assert!(
            unclear.contains("there are a, b") && unclear.contains("--set p=a"),
            "{unclear}"
        );
        let unknown = asked(&["a", "b"], one, &[("p", "c")])
            .await
            .unwrap_err()
            .to_string();
        assert!(unknown.contains("no platform named `c`"), "{unknown}");
        let two = "-- Two.\n-- platform p : from\n-- platform q : to\nSELECT * FROM records WHERE platform IN ($p, $q)";
        assert_eq!(asked(&["a", "b"], two, &[]).await.unwrap(), 2);
        assert_eq!(asked(&["a", "b"], two, &[("q", "a")]).await.unwrap(), 2);
        assert!(asked(&["a", "b", "c"], two, &[("q", "a")]).await.is_err());
    }

    #[tokio::test]
    async fn values_take_the_type_that_is_compared() {
        let number = "-- N.\n-- parameter n = 1 : more than\nSELECT * FROM records WHERE ns > $n";
        assert_eq!(asked(&["a", "b"], number, &[]).await.unwrap(), 2);
        assert_eq!(
            asked(&["a", "b"], number, &[("n", "1.75")]).await.unwrap(),
            0
        );
        let wrong = asked(&["a"], number, &[("n", "x")]).await.unwrap_err();
        assert!(matches!(wrong, Error::Argument { .. }), "{wrong}");
        let text = "-- T.\n-- parameter t = 100 : name\nSELECT * FROM records WHERE platform = $t";
        assert_eq!(asked(&["a100", "100"], text, &[]).await.unwrap(), 1);
        assert_eq!(
            asked(&["1e3", "1000"], text, &[("t", "1e3")])
                .await
                .unwrap(),
            1
        );
        let limit = "-- L.\n-- parameter l = 1 : rows\nSELECT * FROM records LIMIT $l";
        assert_eq!(asked(&["a", "b"], limit, &[]).await.unwrap(), 1);
        assert!(asked(&["a"], limit, &[("m", "1")]).await.is_err());
    }
}

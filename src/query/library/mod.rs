//! The ready-made questions of `queries/`, and those of the user's own folders.
//!
//! A file is named by its question. Its first comment line is the title, lines of these kinds follow, then
//! one `SELECT` with `$NAME` placeholders:
//!
//! | line | what it says |
//! |---|---|
//! | `-- parameter NAME = DEFAULT : meaning` | a value that may be set |
//! | `-- platform NAME : meaning` | a value that is a platform of the store; where none is given, one that the store has most records of |
//! | `-- file NAME : meaning` | a table that the user brings |
//! | `-- plot: kind=KIND x=COLUMN ...` | the picture of its answer, in the words of `tsql plot` |
//! | `-- needs TABLE [WHERE CONDITION] : what` | without such rows there is no answer; the condition also says which platforms are meant |

mod asking;
mod empty;
mod own;
mod question;

pub use asking::platforms;
pub use own::{OwnQuestions, own_questions, question_folders};
pub use question::{Need, Parameter, Question};

use crate::error::{Error, Result};

macro_rules! questions {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../queries/", $name, ".sql")))),*]
    };
}

/// Name and text of each, by name. A test compares it with the folder.
const FILES: &[(&str, &str)] = &questions![
    "best-by-month",
    "best-program-elsewhere",
    "best-program-per-graph",
    "best-sketch-per-graph",
    "best-so-far",
    "cross-platform-pairs",
    "duplicate-programs",
    "failures-by-kind",
    "gflops-beside-peak",
    "gflops-by-operator",
    "graphnet-conv-batchnorm",
    "graphnet-duplicates",
    "graphnet-ops",
    "graphnet-parameters",
    "graphnet-regressions",
    "graphnet-score-curves",
    "graphnet-scores",
    "graphnet-speedups",
    "graphnet-status",
    "hold-out-networks",
    "label-distribution",
    "metaschedule-labels",
    "missing-programs",
    "network-latency",
    "noise-by-runtime",
    "noise-floor",
    "noisiest-records",
    "platform-coverage",
    "platform-summary",
    "platforms-compared",
    "program-spread",
    "rank-correlation",
    "rejected-lines",
    "repeat-statistics",
    "roofline",
    "search-convergence",
    "search-curves",
    "sketch-distribution",
    "source-regressions",
    "sources",
    "speed-over-time",
    "task-bounds",
    "task-gflops",
    "tenset-labels",
    "tenset-labels-valid",
    "time-outs",
    "top-k-per-graph",
    "tpugraphs-bounds",
    "tpugraphs-collections",
    "tpugraphs-layout-codes",
    "tpugraphs-noise",
    "tpugraphs-ops",
    "tpugraphs-score",
    "tpugraphs-spread",
    "widest-tasks",
];

/// All questions that come with tsql, by name.
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
    among(questions(), name)
}

/// The question of this name among some.
///
/// # Errors
/// [`Error::Unknown`] where there is none.
pub(crate) fn among(questions: Vec<Question>, name: &str) -> Result<Question> {
    let names: Vec<String> = questions.iter().map(|one| one.name.clone()).collect();
    let found = questions.into_iter().find(|question| question.name == name);
    found.ok_or_else(|| Error::Unknown {
        kind: "question",
        name: name.to_owned(),
        known: names.join(", "),
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
    fn a_name_that_is_like_a_questions_is_seen_through() {
        let error = question("platform-sumary").unwrap_err().to_string();
        assert!(
            error.contains("did you mean `platform-summary`?"),
            "{error}"
        );
    }
}

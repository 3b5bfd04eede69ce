//! Questions of the user's own: `*.sql` in folders.

use std::path::{Path, PathBuf};

use super::question::Question;

/// What was found in folders.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OwnQuestions {
    /// The questions, by name; of two of one name the one of the first folder.
    pub questions: Vec<Question>,
    /// Files that could not be read: path and reason.
    pub failed: Vec<(PathBuf, String)>,
}

/// Variable with folders of questions.
const VARIABLE: &str = "TSQL_QUERIES";

/// Folder with questions, beside a store.
const BESIDE: &str = "queries";

/// Where questions of the user's own are: the folders that `TSQL_QUERIES` names, and `queries` in the folder that a store
/// lies in.
#[must_use]
pub fn question_folders(around: Option<&Path>) -> Vec<PathBuf> {
    let named = std::env::var_os(VARIABLE).unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let beside = around.map(|folder| folder.join(BESIDE));
    named.chain(beside).collect()
}

/// The questions in these folders: one in each file `NAME.sql`. A folder that there is not has none.
#[must_use]
pub fn own_questions(folders: &[PathBuf]) -> OwnQuestions {
    let mut own = OwnQuestions::default();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(name) = name(&path) else {
                continue;
            };
            if own.questions.iter().any(|known| known.name == name) {
                continue;
            }
            match std::fs::read_to_string(&path) {
                Ok(sql) => own.questions.push(Question {
                    path: Some(path),
                    ..Question::parse(&name, &sql)
                }),
                Err(error) => own.failed.push((path, error.to_string())),
            }
        }
    }
    own.questions.sort_by(|a, b| a.name.cmp(&b.name));
    own
}

/// The name of the question in a file.
fn name(path: &Path) -> Option<String> {
    let is_sql = path.extension().is_some_and(|ending| ending == "sql");
    let name = path.file_stem()?.to_str()?;
    (is_sql && !name.starts_with('.')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_folders_are_questions_and_the_first_of_a_name_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for (folder, name, text) in [
            (&one, "b.sql", "-- B.\nSELECT 1"),
            (&one, "notes.txt", "no"),
            (&two, "b.sql", "-- Other.\nSELECT 2"),
            (&two, "a.sql", "-- A.\nSELECT 3"),
        ] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::fs::write(two.join("c.sql"), b"\xff").unwrap();
        let own = own_questions(&[folder.path().join("none"), one.clone(), two.clone()]);
        let found = own.questions.iter();
        let found = found.map(|one| (one.name.as_str(), one.title.as_str(), one.path.clone()));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ("a", "A.", Some(two.join("a.sql"))),
                ("b", "B.", Some(one.join("b.sql")))
            ]
        );
        let [(failed, _)] = own.failed.as_slice() else {
            panic!("{:?}", own.failed)
        };
        assert_eq!(failed, &two.join("c.sql"));
    }
}

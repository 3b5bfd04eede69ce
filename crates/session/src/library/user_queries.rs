//! Queries of the user: `*.sql` files in folders.

use std::path::{Path, PathBuf};

use super::named_query::NamedQuery;

/// Queries that were found in folders.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct UserQueries {
    /// Queries by name. If a name occurs twice, the first folder wins.
    pub questions: Vec<NamedQuery>,
    /// Files that could not be read: path and reason.
    pub failed: Vec<(PathBuf, String)>,
}

/// Environment variable with folders of queries.
const VARIABLE: &str = "TSQL_QUERIES";

/// Name of the folder of queries beside a store.
const FOLDER_BESIDE_STORE: &str = "queries";

/// Folders with queries of the user: those in `TSQL_QUERIES`, and `queries` in the parent folder of a store.
#[must_use]
pub fn query_folders(around: Option<&Path>) -> Vec<PathBuf> {
    let named = std::env::var_os(VARIABLE).unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let beside = around.map(|folder| folder.join(FOLDER_BESIDE_STORE));
    named.chain(beside).collect()
}

/// Reads the queries in these folders, one per file `NAME.sql`. Missing folders are ignored.
#[must_use]
pub fn user_queries(folders: &[PathBuf]) -> UserQueries {
    let mut own = UserQueries::default();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(name) = query_name(&path) else {
                continue;
            };
            if own.questions.iter().any(|known| known.name == name) {
                continue;
            }
            match std::fs::read_to_string(&path) {
                Ok(sql) => own.questions.push(NamedQuery {
                    path: Some(path),
                    ..NamedQuery::parse(&name, &sql)
                }),
                Err(error) => own.failed.push((path, error.to_string())),
            }
        }
    }
    own.questions.sort_by(|a, b| a.name.cmp(&b.name));
    own
}

/// Query name of a file.
fn query_name(path: &Path) -> Option<String> {
    let is_sql = path.extension().is_some_and(|ending| ending == "sql");
    let name = path.file_stem()?.to_str()?;
    (is_sql && !name.starts_with('.')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_files_override_by_folder_order() {
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
        let own = user_queries(&[folder.path().join("none"), one.clone(), two.clone()]);
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

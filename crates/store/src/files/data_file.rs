//! A data file as the log names it: its place, its statistics, and the folders of its partition.

use std::collections::HashMap;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use uuid::Uuid;

use crate::files::checksum::Checksums;
use crate::files::encode::Effort;
use crate::files::rollup::Place;
use crate::files::stats::Stats;
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Begin of the names of files that `optimize` has written.
const OPTIMIZED: &str = "optimized-";

/// What the names of other files begin with.
const INGESTED: &str = "part-";

/// Folder of the rows without a value, as Hive names it.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Bytes of a value in the name of a folder, which has 255 with the column's name.
const LONGEST_FOLDER: usize = 240;

/// A data file as the log names it.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// Path in the table's folder.
    pub path: String,
    /// Values of the partition columns, in the table's order.
    pub partition: Vec<(String, Option<String>)>,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Statistics of its columns.
    pub stats: Arc<Stats>,
    /// Where the sums of its rows are.
    pub rollup: Option<Place>,
    /// Where its checksums are; older versions wrote none.
    pub checksums: Option<Checksums>,
    /// The records, and other lines, that its rows count, where they are those of the ingest log. Older versions wrote
    /// none. It is only compared: a wrong number makes readers look at the rows.
    pub counts: Option<(u64, u64)>,
    /// Milliseconds since 1970.
    pub written_at_ms: i64,
}

/// The tag of a file with what its rows count.
const COUNTS: &str = "tsql.counts";

impl DataFile {
    /// What its rows count, as a tag.
    pub(crate) fn counts_tag(&self) -> Option<(String, Option<String>)> {
        let (records, others) = self.counts?;
        Some((COUNTS.to_owned(), Some(format!("{records},{others}"))))
    }

    /// What the rows of a file with these tags count.
    pub(crate) fn counts_of(tags: &HashMap<String, Option<String>>) -> Option<(u64, u64)> {
        let (records, others) = tags.get(COUNTS)?.as_ref()?.split_once(',')?;
        Some((records.parse().ok()?, others.parse().ok()?))
    }

    /// Is its name one that tsql gives? Files of others hold the same rows in any order: `compact` of delta-rs and its like
    /// write them.
    pub fn is_own(&self) -> bool {
        is_own_name(self.path.rsplit('/').next().unwrap_or_default())
    }

    /// Was it written by `optimize`?
    pub fn is_optimized(&self) -> bool {
        self.path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(OPTIMIZED))
    }

    /// Returns the path of the file in the store, with its size in bytes; `None` if its name is no path.
    pub(crate) fn size_in(&self, table: &str) -> Option<(Path, u64)> {
        Some((self.object(table).ok()?, self.size_bytes))
    }

    /// The object that it is, in the store.
    pub fn object(&self, table: &str) -> Result<Path> {
        object(table, &self.path)
    }

    /// Is it among the objects of its store?
    pub async fn exists(&self, objects: &dyn ObjectStore, table: &str) -> Result<bool> {
        match objects.head(&self.object(table)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// Does it lie in the folders that say its partition? Who reads folders instead of the log would take
    /// its rows for others.
    pub fn is_in_place(&self) -> bool {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders(&self.partition).trim_end_matches('/') == folder
    }
}

/// Is this the name of a data file that [`file_path`] makes?
fn is_own_name(name: &str) -> bool {
    let number = name.strip_prefix(INGESTED).or(name.strip_prefix(OPTIMIZED));
    let number = number.and_then(|number| number.strip_suffix(".parquet"));
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    number.is_some_and(|number| number.len() == 32 && number.bytes().all(is_digit))
}

/// Is this the path of a data file that [`file_path`] makes, in the folder of a table?
pub(crate) fn is_own_path(table: &Table, path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let folders: Vec<&str> = parts.rev().collect();
    let is_folder = |(folder, column): (&&str, &String)| {
        let value = folder.strip_prefix(column.as_str());
        value.is_some_and(|value| value.starts_with('='))
    };
    is_own_name(name)
        && folders.len() == table.partition.len()
        && folders.iter().zip(&table.partition).all(is_folder)
}

/// The object that a data file is. What is escaped in its path stays so: it is the name of a folder.
pub(crate) fn object(table: &str, path: &str) -> Result<Path> {
    let object = Path::parse(format!("{table}/{path}"));
    object.map_err(|error| Error::damaged(table, error.to_string()))
}

/// `dataset=tenset/platform=k80/part-....parquet`.
pub(crate) fn file_path(partition: &[(String, Option<String>)], effort: Effort) -> String {
    let kind = match effort {
        Effort::Ingest => INGESTED,
        Effort::Optimize => OPTIMIZED,
    };
    let name = Uuid::new_v4().simple();
    format!("{}{kind}{name}.parquet", folders(partition))
}

/// The folders of a partition as Hive names them, and whoever takes values from paths reads them: all
/// bytes that a path might mind are `%` and two hexadecimal digits.
fn folders(partition: &[(String, Option<String>)]) -> String {
    let mut path = String::new();
    for (name, value) in partition {
        path.push_str(name);
        path.push('=');
        for byte in value.as_deref().unwrap_or(NULL_FOLDER).bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        path.push('/');
    }
    path
}

/// Why no partition can have this value, if none can.
pub fn refused_value(value: &str) -> Option<&'static str> {
    let folder = folders(&[(String::new(), Some(value.to_owned()))]);
    if value.is_empty() {
        Some("is empty")
    } else if value.chars().any(char::is_control) {
        Some("has control characters")
    } else if value == NULL_FOLDER {
        Some("stands for a missing value")
    } else if folder.len() > LONGEST_FOLDER {
        Some("is too long for the name of a folder")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_tsql_gives_are_its_own() {
        let (plain, divided) = ("graphs", "records");
        let [plain, divided] = [plain, divided].map(|name| tsql_schema::table(name).unwrap());
        let number = "0123456789abcdef0123456789abcdef";
        let own = format!("part-{number}.parquet");
        let partition = [("dataset", "a"), ("platform", "b c")];
        let partition = partition.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        assert!(is_own_path(plain, &file_path(&[], Effort::Ingest)));
        assert!(is_own_path(plain, &file_path(&[], Effort::Optimize)));
        assert!(is_own_path(divided, &file_path(&partition, Effort::Ingest)));
        for (table, path) in [
            (plain, "part-1.parquet".to_owned()),
            (plain, format!("part-{number}.csv")),
            (plain, format!("part-{}.parquet", number.to_uppercase())),
            (plain, format!("part-{number}.parquet.bak")),
            (plain, format!("backup/{own}")),
            (plain, format!("dataset=a/{own}")),
            (divided, own.clone()),
            (divided, format!("dataset=a/{own}")),
            (divided, format!("dataset=a/copy/{own}")),
            (divided, format!("old/dataset=a/platform=b/{own}")),
        ] {
            assert!(!is_own_path(table, &path), "{path}");
        }
    }

    #[test]
    fn folders_say_what_the_log_says() {
        let path = |value: &str| folders(&[("platform".to_owned(), Some(value.to_owned()))]);
        assert_eq!(path("epyc-1t_a.b"), "platform=epyc-1t_a.b/");
        assert_eq!(path("a b/c%ü"), "platform=a%20b%2Fc%25%C3%BC/");
        for (value, refused) in [
            ("a100", false),
            ("NVIDIA A100-SXM4-40GB", false),
            ("../x", false),
            ("ünï=1&2", false),
            ("", true),
            ("a\nb", true),
            ("__HIVE_DEFAULT_PARTITION__", true),
        ] {
            assert_eq!(refused_value(value).is_some(), refused, "{value:?}");
        }
        assert!(refused_value(&"x".repeat(240)).is_some());
        assert!(refused_value(&"ü".repeat(39)).is_none());
    }
}

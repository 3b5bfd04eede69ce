//! A data file as listed in the log: path, statistics and partition folders.

use std::collections::HashMap;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use uuid::Uuid;

use crate::files::checksum::Checksums;
use crate::files::encode::Effort;
use crate::files::rollup::RollupLocation;
use crate::files::stats::Stats;
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Prefix of file names that `optimize` writes.
const OPTIMIZED: &str = "optimized-";

/// Prefix of other file names.
const INGESTED: &str = "part-";

/// Folder of rows without a partition value, in Hive's convention.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Maximum length of a value in a folder name, in bytes. The folder name, with the column's name, has at most 255.
const LONGEST_FOLDER: usize = 240;

/// A data file as listed in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// Path in the table's folder.
    pub path: String,
    /// Values of the partition columns, in the table's order.
    pub partition: Vec<(String, Option<String>)>,
    /// File size in bytes.
    pub size_bytes: u64,
    /// Statistics of its columns.
    pub stats: Arc<Stats>,
    /// Location of its pre-aggregates.
    pub rollup: Option<RollupLocation>,
    /// Location of its checksums. Older versions wrote none.
    pub checksums: Option<Checksums>,
    /// Sums of the record and other line counts, for files of the ingest log. Older versions wrote none. They are only
    /// compared: a wrong number makes readers read the rows.
    pub counts: Option<(u64, u64)>,
    /// Milliseconds since 1970.
    pub written_at_ms: i64,
}

/// Tag with the counts of an ingest log file.
const COUNTS: &str = "tsql.counts";

impl DataFile {
    /// Returns the counts as a tag.
    pub(crate) fn counts_tag(&self) -> Option<(String, Option<String>)> {
        let (records, others) = self.counts?;
        Some((COUNTS.to_owned(), Some(format!("{records},{others}"))))
    }

    /// Parses the counts from the tags of a file.
    pub(crate) fn counts_from_tags(tags: &HashMap<String, Option<String>>) -> Option<(u64, u64)> {
        let (records, others) = tags.get(COUNTS)?.as_ref()?.split_once(',')?;
        Some((records.parse().ok()?, others.parse().ok()?))
    }

    /// Returns whether tsql has written the file, judged by its name. Other writers, such as `compact` of delta-rs,
    /// write rows in any order.
    pub fn is_own(&self) -> bool {
        is_own_name(self.path.rsplit('/').next().unwrap_or_default())
    }

    /// Returns whether `optimize` has written the file.
    pub fn is_optimized(&self) -> bool {
        self.path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(OPTIMIZED))
    }

    /// Returns the path of the file in the store, with its size in bytes; `None` if its name is no path.
    pub(crate) fn size_in(&self, table: &str) -> Option<(Path, u64)> {
        Some((self.object_path(table).ok()?, self.size_bytes))
    }

    /// Returns the object path in the store.
    pub fn object_path(&self, table: &str) -> Result<Path> {
        object_path(table, &self.path)
    }

    /// Returns whether the object exists in its store.
    pub async fn exists(&self, objects: &dyn ObjectStore, table: &str) -> Result<bool> {
        match objects.head(&self.object_path(table)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// Returns whether the file is in the folders of its partition. Readers that use folders instead of the log would
    /// assign its rows to another partition.
    pub fn is_in_partition_folder(&self) -> bool {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        partition_path(&self.partition).trim_end_matches('/') == folder
    }
}

/// Returns whether this is the name of a data file as [`file_path`] generates it.
fn is_own_name(name: &str) -> bool {
    let number = name.strip_prefix(INGESTED).or(name.strip_prefix(OPTIMIZED));
    let number = number.and_then(|number| number.strip_suffix(".parquet"));
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    number.is_some_and(|number| number.len() == 32 && number.bytes().all(is_digit))
}

/// Returns whether this is the path of a data file as [`file_path`] generates it, in the folder of a table.
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

/// Returns the object path of a data file. Escapes in its path stay, because they are part of the folder name.
pub(crate) fn object_path(table: &str, path: &str) -> Result<Path> {
    let object = Path::parse(format!("{table}/{path}"));
    object.map_err(|error| Error::damaged(table, error.to_string()))
}

/// Returns a new path such as `dataset=tenset/platform=k80/part-....parquet`.
pub(crate) fn file_path(partition: &[(String, Option<String>)], effort: Effort) -> String {
    let kind = match effort {
        Effort::Ingest => INGESTED,
        Effort::Optimize => OPTIMIZED,
    };
    let name = Uuid::new_v4().simple();
    format!("{}{kind}{name}.parquet", partition_path(partition))
}

/// Returns the folders of a partition in Hive's convention. Special characters of paths are percent-encoded (`%` and
/// two hexadecimal digits).
fn partition_path(partition: &[(String, Option<String>)]) -> String {
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

/// Returns the reason why a partition cannot have this value, if any.
pub fn invalid_partition_value(value: &str) -> Option<&'static str> {
    let folder = partition_path(&[(String::new(), Some(value.to_owned()))]);
    if value.is_empty() {
        Some("is empty")
    } else if value.chars().any(char::is_control) {
        Some("has control characters")
    } else if value == NULL_FOLDER {
        Some("is reserved for missing values")
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
    fn folders_agree_with_the_log() {
        let path = |value: &str| partition_path(&[("platform".to_owned(), Some(value.to_owned()))]);
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
            assert_eq!(
                invalid_partition_value(value).is_some(),
                refused,
                "{value:?}"
            );
        }
        assert!(invalid_partition_value(&"x".repeat(240)).is_some());
        assert!(invalid_partition_value(&"ü".repeat(39)).is_none());
    }
}

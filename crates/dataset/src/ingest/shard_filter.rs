//! Selection of the files of a shard.

use tsql_schema::shard::Shard;

/// Retains the files of a shard, by path. Without a shard, retains all.
pub(super) fn retain_shard<T>(part: Option<Shard>, files: &mut Vec<T>, path: impl Fn(&T) -> &str) {
    let Some(part) = part else { return };
    let paths: Vec<&str> = files.iter().map(&path).collect();
    let units = tsql_formats::group_paths(&paths).into_iter();
    let own: Vec<bool> = units.map(|unit| part.contains(unit)).collect();
    let mut own = own.into_iter();
    files.retain(|_| own.next().unwrap_or(false));
}

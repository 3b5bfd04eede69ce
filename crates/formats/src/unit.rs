//! Groups files that must be read together.

use std::collections::HashSet;

use crate::graphnet::sample::METADATA;

/// File names that belong together in the same folder: those of a MetaSchedule database.
const PAIRED: [&str; 2] = ["workload", "tuning_record"];

/// Returns the group of each file by its path: the folder of a sample, the folder of a database, or the file itself.
/// Files of the same group must be read by the same process.
pub fn group_paths<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let folder = |path: &'a str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = |path: &'a str| path.rsplit_once('/').map_or(path, |(_, name)| name);
    let samples = paths.iter().filter(|path| name(path) == METADATA);
    let samples: HashSet<&str> = samples.map(|path| folder(path)).collect();
    let group = |path: &&'a str| {
        let mut ancestor = folder(path);
        while !ancestor.is_empty() && !samples.contains(ancestor) {
            ancestor = folder(ancestor);
        }
        if samples.contains(ancestor) {
            return ancestor;
        }
        let is_paired = PAIRED.iter().any(|part| name(path).contains(part));
        if is_paired { folder(path) } else { *path }
    };
    paths.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_and_databases_stay_together_and_logs_do_not() {
        let paths = [
            "s/a/graph_net.json",
            "s/a/model.py",
            "s/a/variant/input_meta.py",
            "s/b/graph_net.json",
            "logs/k80/1.json",
            "logs/k80/2.json",
            "ms/database_workload.json",
            "ms/database_tuning_record.json",
            "alone.json",
        ];
        let expected = [
            "s/a",
            "s/a",
            "s/a",
            "s/b",
            "logs/k80/1.json",
            "logs/k80/2.json",
            "ms",
            "ms",
            "alone.json",
        ];
        assert_eq!(group_paths(&paths), expected);
        assert_eq!(group_paths(&["graph_net.json", "model.py"]), ["", ""]);
    }
}

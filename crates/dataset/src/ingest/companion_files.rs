//! Finds the file that the lines of a log refer to: next to the log, or among the files of the same run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use tsql_formats::Input;
use tsql_formats::naming::path_to_text;

use super::logs::Job;

/// File name suffixes of compressed files.
const COMPRESSION_SUFFIXES: [&str; 3] = ["", ".gz", ".zst"];

/// Files of a run by their names in the store. Ambiguous names map to `None`.
pub(super) struct UniqueNames(HashMap<String, Option<Input>>);

impl UniqueNames {
    /// Uses only files in folders. Names without a folder are likely to collide.
    pub(super) fn from_inputs(inputs: &[Input]) -> Self {
        let mut names = HashMap::new();
        for input in inputs.iter().filter(|input| input.name.contains('/')) {
            let mut endings = COMPRESSION_SUFFIXES.iter().rev();
            let plain = endings.find_map(|ending| input.name.strip_suffix(ending));
            match names.entry(plain.unwrap_or(&input.name).to_owned()) {
                Entry::Vacant(entry) => {
                    entry.insert(Some(input.clone()));
                }
                Entry::Occupied(mut entry) => {
                    entry.insert(None);
                }
            }
        }
        Self(names)
    }

    fn find(&self, name: &str) -> Option<Input> {
        self.0.get(name)?.clone()
    }
}

/// Sets the companion file of each log that has one.
pub(super) fn assign_companions(jobs: &mut [Job], names: &UniqueNames) {
    for job in jobs {
        let Some(name) = job.dialect.companion_file_name(&job.input.name) else {
            continue;
        };
        let file = name.rsplit('/').next().unwrap_or(&name);
        let on_disk = job
            .input
            .file
            .parent()
            .filter(|_| !job.input.is_in_archive());
        let on_disk = on_disk.and_then(|folder| find_in_folder(folder, file));
        job.beside = on_disk.or_else(|| names.find(&name));
    }
}

/// Finds a file in a folder, also in compressed form.
fn find_in_folder(folder: &Path, name: &str) -> Option<Input> {
    let files = COMPRESSION_SUFFIXES.map(|ending| folder.join(format!("{name}{ending}")));
    let file = files.into_iter().find(|file| file.is_file())?;
    let path = path_to_text(&file);
    Some(Input::new(file, path.clone(), path))
}

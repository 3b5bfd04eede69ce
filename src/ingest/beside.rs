//! Logs whose lines refer to another file find it: beside them, or among the files of the same run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use tsql_formats::Input;
use tsql_formats::naming::readable_path;

use super::lines::Job;

/// How the names of compressed files end.
const COMPRESSED: [&str; 3] = ["", ".gz", ".zst"];

/// The files of a run by their names in the store, without those of which there are two.
pub(super) struct Names(HashMap<String, Option<Input>>);

impl Names {
    /// Of files in folders: others may share a name with any file of anybody.
    pub(super) fn of(inputs: &[Input]) -> Self {
        let mut names = HashMap::new();
        for input in inputs.iter().filter(|input| input.name.contains('/')) {
            let mut endings = COMPRESSED.iter().rev();
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

/// Says of each log which file its lines refer to, where there is one.
pub(super) fn find(jobs: &mut [Job], names: &Names) {
    for job in jobs {
        let Some(name) = job.dialect.beside(&job.input.name) else {
            continue;
        };
        let file = name.rsplit('/').next().unwrap_or(&name);
        let on_disk = job.input.file.parent().filter(|_| !job.input.is_packed());
        let on_disk = on_disk.and_then(|folder| in_folder(folder, file));
        job.beside = on_disk.or_else(|| names.find(&name));
    }
}

/// The file of this name in a folder, also a compressed one.
fn in_folder(folder: &Path, name: &str) -> Option<Input> {
    let files = COMPRESSED.map(|ending| folder.join(format!("{name}{ending}")));
    let file = files.into_iter().find(|file| file.is_file())?;
    let path = readable_path(&file);
    Some(Input::new(file, path.clone(), path))
}

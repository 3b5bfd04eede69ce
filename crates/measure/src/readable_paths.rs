//! Paths that a kernel and its compiler may read: installed software, and no files of the user.

use std::env;
use std::path::{Path, PathBuf};

/// Folders and files that programs need on all systems; missing ones are ignored.
///
/// Landlock and missing capabilities protect the memory and environment of other processes in `/proc`.
const SYSTEM: &[&str] = &[
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/sbin",
    "/usr",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc",
    "/sys",
];

/// Variables with folders that compilers and loaders should search.
const PATH_VARIABLES: [&str; 6] = [
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
];

/// Paths that every confined process may read.
pub(super) fn system_paths() -> Vec<PathBuf> {
    let searched = PATH_VARIABLES.iter().filter_map(env::var_os);
    let searched: Vec<PathBuf> = searched
        .flat_map(|folders| env::split_paths(&folders).collect::<Vec<_>>())
        .filter(|folder| folder.is_absolute())
        .collect();
    SYSTEM.iter().map(PathBuf::from).chain(searched).collect()
}

/// Folders of a program given by name or path, and of the targets of its symbolic links.
///
/// For a program in `x/bin`, all of `x`, unless that is the home folder.
pub(super) fn toolchain_paths(program: &Path) -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let Some(file) = resolve_program(program) else {
        return Vec::new();
    };
    let real = file.canonicalize();
    let all = [Some(file), real.ok()].into_iter().flatten();
    let folders = all.filter_map(|program| {
        let folder = program.parent()?;
        let toolchain = folder.parent().filter(|_| folder.ends_with("bin"));
        let toolchain = toolchain
            .filter(|toolchain| toolchain.parent().is_some() && home.as_deref() != Some(toolchain));
        Some(toolchain.unwrap_or(folder).to_owned())
    });
    folders.collect()
}

/// Resolves a program's name to its file.
fn resolve_program(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return std::path::absolute(program).ok();
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_the_folder_around_its_program() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let bin = root.join("gcc-14/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("gcc"), "").unwrap();
        std::os::unix::fs::symlink(bin.join("gcc"), root.join("cc")).unwrap();
        let toolchain = root.join("gcc-14");
        assert_eq!(
            toolchain_paths(&bin.join("gcc")),
            [toolchain.clone(), toolchain.clone()]
        );
        assert_eq!(toolchain_paths(&root.join("cc")), [root.clone(), toolchain]);
        assert_eq!(
            toolchain_paths(Path::new("no-such-program")),
            Vec::<PathBuf>::new()
        );
        assert!(system_paths().contains(&PathBuf::from("/usr")));
    }
}

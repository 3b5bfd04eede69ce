//! What a kernel and its compiler may read: what the system has installed, and nothing of the user.

use std::env;
use std::path::{Path, PathBuf};

/// Folders and files that programs need on every system; those that are missing do no harm. Of `/proc`
/// other processes' memory and environment are closed by Landlock and by missing capabilities.
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

/// Variables with folders that the user wants compilers and loaders to search.
const SEARCHED: [&str; 6] = [
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
];

/// What every confined process may read.
pub(super) fn installed() -> Vec<PathBuf> {
    let searched = SEARCHED.iter().filter_map(env::var_os);
    let searched: Vec<PathBuf> = searched
        .flat_map(|folders| env::split_paths(&folders).collect::<Vec<_>>())
        .filter(|folder| folder.is_absolute())
        .collect();
    SYSTEM.iter().map(PathBuf::from).chain(searched).collect()
}

/// The folders of a program that is named as in a command line, and of what lies behind its name: where
/// it is in `x/bin`, all of `x`, unless that is the home folder.
pub(super) fn toolchain(program: &Path) -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let Some(found) = found(program) else {
        return Vec::new();
    };
    let real = found.canonicalize();
    let all = [Some(found), real.ok()].into_iter().flatten();
    let folders = all.filter_map(|program| {
        let folder = program.parent()?;
        let whole = folder.parent().filter(|_| folder.ends_with("bin"));
        let whole =
            whole.filter(|whole| whole.parent().is_some() && home.as_deref() != Some(whole));
        Some(whole.unwrap_or(folder).to_owned())
    });
    folders.collect()
}

/// The file that a program's name means.
fn found(program: &Path) -> Option<PathBuf> {
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
    fn a_toolchain_is_what_lies_around_its_program() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let bin = place.join("gcc-14/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("gcc"), "").unwrap();
        std::os::unix::fs::symlink(bin.join("gcc"), place.join("cc")).unwrap();
        let whole = place.join("gcc-14");
        assert_eq!(toolchain(&bin.join("gcc")), [whole.clone(), whole.clone()]);
        assert_eq!(toolchain(&place.join("cc")), [place.clone(), whole]);
        assert_eq!(
            toolchain(Path::new("no-such-program")),
            Vec::<PathBuf>::new()
        );
        assert!(installed().contains(&PathBuf::from("/usr")));
    }
}

//! Atomic output of files to a folder or a bucket: the output is complete, or recognizably incomplete.

mod checksums;

mod check_outside;
mod file_hash;
mod output_target;

pub(crate) use check_outside::check_outside;
pub(crate) use checksums::{NAME as CHECKSUMS, parse};
pub(crate) use file_hash::hash_file;
pub(crate) use output_target::{OutputKind, OutputTarget, WrittenFile, is_unfinished, list_files};

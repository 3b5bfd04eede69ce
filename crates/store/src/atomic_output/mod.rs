//! Atomic output of files to a folder or a bucket: the output is complete, or recognizably incomplete.

mod checksums;

mod check_outside;
mod file_hash;
mod output_target;

pub use check_outside::{check_output, check_outside, create_output, write_output};
pub use checksums::{NAME as CHECKSUMS, parse};
pub use file_hash::hash_file;
pub use output_target::{OutputKind, OutputTarget, WrittenFile, is_unfinished, list_files};

//! `tsql verify`: compares a publication with its checksums.

use std::io::Write as _;

use clap::Args;
use indicatif::HumanBytes;
use tsql_error::Error;
use tsql_ml::publish::verify_publication;

use super::outcome::{DONE, Failure, PARTLY};
use super::progress_bar;
use super::stderr::{count_noun, print_message, shows_progress};

/// Template of the progress bar.
const STYLE: &str = "{spinner} {binary_bytes} read, {binary_bytes_per_sec}, {elapsed}";

/// Compare the files of a publication with their checksums
///
/// Reads all files that `SHA256SUMS` lists, and prints missing, changed and additional files, one per line. Hidden
/// files (`.git`) are ignored. Exit code 0 if nothing differs, 1 otherwise.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql verify published && echo whole\n  \
    tsql verify s3://datasets/gemm")]
pub(super) struct Verify {
    /// Folder or URL of the publication
    #[arg(value_name = "DIR|URL")]
    publication: String,
}

pub(super) async fn run(command: Verify) -> Result<u8, Failure> {
    let bar = shows_progress().then(|| progress_bar::spinner(STYLE));
    let verified = verify_publication(&command.publication, |bytes| {
        if let Some(bar) = &bar {
            bar.set_position(bytes);
        }
    });
    let verified = verified.await;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let verified = verified?;
    let mut out = super::stdout::stdout();
    let lists = [
        ("missing", &verified.missing),
        ("changed", &verified.changed),
        ("additional", &verified.additional),
    ];
    for (what, paths) in lists {
        for path in paths {
            writeln!(out, "{what} {path}").map_err(Error::io("standard output"))?;
        }
    }
    let files = count_noun(verified.file_count, "file");
    print_message(&format!(
        "{files} of {} as published",
        HumanBytes(verified.bytes)
    ));
    Ok(if verified.is_whole() { DONE } else { PARTLY })
}

//! Programs that a store names are shown before they are built and run.
//!
//! A store may come from anybody, and can be copied: that it lies here does not say who wrote what is in
//! it. So whoever measures its records again says that he trusts them, each time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{BufRead as _, IsTerminal as _};

use tsql_codecs::identity::ContentHasher;

use crate::cli::talk::{counted, talk};
use crate::error::{Error, Result};
use crate::trials::repeat::Chosen;
use tsql_measure::backends::Address;
use tsql_measure::trial::Program;

/// Returns where the user trusts the programs of these records: he said so before, or says so now.
///
/// # Errors
/// Where he does not, or nobody is there to be asked; the error shows what would be run.
pub(super) fn ask(chosen: &[Chosen], trusted: bool) -> Result<()> {
    if trusted {
        return Ok(());
    }
    let list = list(chosen)?;
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        talk(&format!("{list}\nbuild and run them? [y/N]"));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.map_err(Error::io("standard input"))?;
        if ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
            return Ok(());
        }
        return Err(untrusted("nothing was built or run".to_owned()));
    }
    Err(untrusted(format!(
        "{list}\nhint: --trust builds and runs them; tsql \"SELECT program FROM environments\" shows their texts"
    )))
}

fn untrusted(reason: String) -> Error {
    Error::Argument {
        name: "trust",
        reason,
    }
}

/// What would be run: compiler, flags, and sources with the hash of their text.
fn list(chosen: &[Chosen]) -> Result<String> {
    let programs: BTreeMap<&str, &Chosen> = chosen
        .iter()
        .map(|one| (one.item.loaded.program.as_str(), one))
        .collect();
    let mut compilers = BTreeMap::new();
    let mut lines =
        vec!["the store names programs, which would be built and run on this machine:".to_owned()];
    for one in programs.values() {
        let manifest = &one.item.loaded.manifest;
        lines.push(format!("  {}", manifest.name()));
        for program in manifest.programs() {
            let compiler = match compilers.entry(program.language) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(
                    Address::of(program.language)
                        .backend
                        .compiler(program.language)?,
                ),
            };
            let (flags, sources) = (program.flags.join(" "), sources(program));
            lines.push(format!("    {compiler} {flags}: {sources}"));
        }
    }
    // Nothing that the store says begins a line of its own.
    let lines: Vec<String> = lines.iter().map(|line| line.replace('\n', "\\n")).collect();
    Ok(lines.join("\n"))
}

fn sources(program: &Program) -> String {
    let sources = program.sources.iter().map(|source| {
        let mut hasher = ContentHasher::new();
        hasher.update(source.text.as_bytes());
        let lines = counted(source.text.lines().count() as u64, "line");
        format!("{} ({lines}, xxh3 {})", source.name, hasher.hex())
    });
    sources.collect::<Vec<_>>().join(", ")
}

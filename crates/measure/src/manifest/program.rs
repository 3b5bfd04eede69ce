//! Sources of a program and its reference: files, names and language.

use std::path::{Component, Path};

use super::super::flags;
use super::super::trial::{Check, Language, Metric, Program, Source};
use super::names::identifier_error;
use super::raw_manifest::{TypedCheck, TypedProgram, TypedReference};

/// Reads a source by its path in the manifest.
pub(super) type ReadSource<'a, E> = &'a dyn Fn(&str) -> Result<String, E>;

/// An invalid manifest key with a message, or a source that could not be read.
pub(super) enum ResolveError<E> {
    Key(String),
    Read(E),
}

impl<E> From<String> for ResolveError<E> {
    fn from(reason: String) -> Self {
        Self::Key(reason)
    }
}

/// Default optimization flags for kernels. NVRTC always optimizes.
fn default_kernel_flags(language: Language) -> Vec<String> {
    match language {
        Language::C | Language::Cxx => vec!["-O3".to_owned(), "-march=native".to_owned()],
        Language::Cuda => Vec::new(),
    }
}

pub(super) fn resolve_program<E>(
    typed: TypedProgram,
    read_source: ReadSource<'_, E>,
) -> Result<Program, ResolveError<E>> {
    let files = match (typed.source, typed.files) {
        (Some(source), None) => vec![source],
        (None, Some(files)) if !files.is_empty() => files,
        _ => {
            return Err("program: needs either `source` or `files`"
                .to_owned()
                .into());
        }
    };
    if let Some(fault) = entry_error(typed.language, &typed.entry) {
        return Err(format!("program.entry: {fault}").into());
    }
    let flags = typed
        .flags
        .unwrap_or_else(|| default_kernel_flags(typed.language));
    check_flags(typed.language, &flags, "program")?;
    Ok(Program {
        language: typed.language,
        sources: read_sources(&files, "program", read_source)?,
        entry: typed.entry,
        flags,
    })
}

pub(super) fn resolve_check<E>(
    typed: TypedCheck,
    read_source: ReadSource<'_, E>,
) -> Result<Check, ResolveError<E>> {
    let (rtol, atol) = (typed.rtol.unwrap_or(1e-4), typed.atol.unwrap_or(1e-5));
    for (key, value) in [("rtol", rtol), ("atol", atol)] {
        if !(0.0..=1e30).contains(&value) {
            return Err(
                format!("check.{key}: {value} is not a tolerance, expected 0 to 1e30").into(),
            );
        }
    }
    Ok(Check {
        reference: resolve_reference(typed.reference, read_source)?,
        rtol,
        atol,
        metric: typed.metric.unwrap_or(Metric::RelL2),
    })
}

fn resolve_reference<E>(
    typed: TypedReference,
    read_source: ReadSource<'_, E>,
) -> Result<Program, ResolveError<E>> {
    let key = "check.reference";
    let language = typed
        .language
        .or_else(|| language_from_extension(&typed.source))
        .ok_or_else(|| {
            format!(
                "{key}: needs `language`, the extension of `{}` does not determine it",
                typed.source
            )
        })?;
    if language == Language::Cuda {
        return Err(format!("{key}: runs on the host, so it is `c` or `c++`").into());
    }
    if let Some(fault) = entry_error(language, &typed.entry) {
        return Err(format!("{key}.entry: {fault}").into());
    }
    let flags = typed.flags.unwrap_or_else(|| vec!["-O2".to_owned()]);
    check_flags(language, &flags, key)?;
    Ok(Program {
        language,
        sources: read_sources(&[typed.source], key, read_source)?,
        entry: typed.entry,
        flags,
    })
}

fn check_flags(language: Language, flags: &[String], key: &str) -> Result<(), String> {
    let fault = flags
        .iter()
        .find_map(|flag| flags::rejection_reason(language, flag));
    fault.map_or(Ok(()), |fault| Err(format!("{key}.flags: {fault}")))
}

/// Reason why an entry name is invalid.
///
/// A C++ entry can be in a namespace and an instance of a template: `k::twice<TILE>`.
fn entry_error(language: Language, entry: &str) -> Option<String> {
    if language != Language::Cxx {
        return identifier_error(entry);
    }
    let (name, arguments) = entry.split_once('<').unwrap_or((entry, ">"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:<>, ".contains(c);
    let invalid = !arguments.ends_with('>') || !arguments.chars().all(plain);
    let fault = name.split("::").find_map(identifier_error);
    fault.or_else(|| invalid.then(|| format!("`{entry}` is not a function of C++")))
}

fn language_from_extension(source: &str) -> Option<Language> {
    match Path::new(source).extension()?.to_str()? {
        "c" => Some(Language::C),
        "cc" | "cpp" | "cxx" => Some(Language::Cxx),
        "cu" => Some(Language::Cuda),
        _ => None,
    }
}

fn read_sources<E>(
    files: &[String],
    key: &str,
    read_source: ReadSource<'_, E>,
) -> Result<Vec<Source>, ResolveError<E>> {
    let mut sources: Vec<Source> = Vec::with_capacity(files.len());
    for file in files {
        let name =
            local_name(file).ok_or_else(|| format!("{key}: `{file}` is not the name of a file"))?;
        if sources.iter().any(|source| source.name == name) {
            return Err(format!("{key}: two files named `{name}`").into());
        }
        let text = read_source(file).map_err(ResolveError::Read)?;
        sources.push(Source { name, text });
    }
    Ok(sources)
}

/// Name of the file in the build folder: its path if that stays inside the folder, else its file name.
fn local_name(file: &str) -> Option<String> {
    let path = Path::new(file);
    let last = path.file_name()?;
    let is_inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let name = if is_inside { path.as_os_str() } else { last };
    name.to_str().map(str::to_owned)
}

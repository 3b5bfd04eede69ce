//! Validation of a parsed manifest: expressions, sizes, names and limits.

use std::collections::BTreeSet;

use super::super::expr::Expression;
use super::super::space::Config;
use super::super::trial::{Language, Settings};
use super::argument::{self, ArgumentSpec};
use super::launch::LaunchSpec;
use super::names::identifier_error;
use super::program::{self, ReadSource, ResolveError};
use super::raw_manifest::{self, Formula, TypedArgument, TypedLaunch, TypedManifest};
use super::scope::Scope;
use super::{Manifest, knobs, workload};
use crate::error::{Error, Result};

impl Manifest {
    /// Parses the manifest `text` of the file `name`; `read_source` returns its sources.
    ///
    /// # Errors
    /// [`Error::Source`] with the location if the manifest is invalid, and errors of `read_source`.
    pub fn parse<E: From<Error>>(
        text: &str,
        name: &str,
        read_source: &dyn Fn(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        resolve(raw_manifest::parse(text, name)?, name, read_source)
    }
}

/// Validates `typed`, which was parsed from `file`, and adds defaults.
fn resolve<E: From<Error>>(
    typed: TypedManifest,
    file: &str,
    read_source: ReadSource<'_, E>,
) -> Result<Manifest, E> {
    resolve_all(typed, read_source).map_err(|fault| match fault {
        ResolveError::Read(error) => error,
        ResolveError::Key(reason) => E::from(Error::Source {
            location: file.to_owned(),
            reason,
        }),
    })
}

fn resolve_all<E>(
    typed: TypedManifest,
    read_source: ReadSource<'_, E>,
) -> Result<Manifest, ResolveError<E>> {
    let name = typed.program.name.clone();
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(format!("program.name: `{}` is not a name", name.escape_debug()).into());
    }
    let manifest = Manifest {
        name,
        tags: typed.program.tags.clone(),
        workloads: workload::resolve(typed.workloads)?,
        arguments: resolve_arguments(typed.arguments)?,
        space: knobs::resolve(typed.space)?,
        launch: resolve_launch(typed.launch, typed.program.language)?,
        program: program::resolve_program(typed.program, read_source)?,
        check: typed
            .check
            .map(|check| program::resolve_check(check, read_source))
            .transpose()?,
        settings: check_settings(typed.settings)?,
    };
    check_names(&manifest)?;
    check_sizes(&manifest)?;
    Ok(manifest)
}

fn resolve_arguments(typed: Vec<TypedArgument>) -> Result<Vec<ArgumentSpec>, String> {
    let mut arguments: Vec<ArgumentSpec> = Vec::with_capacity(typed.len());
    for argument in typed {
        let name = argument.name.clone();
        if let Some(fault) = identifier_error(&name) {
            return Err(format!("arg: {fault}"));
        }
        if arguments.iter().any(|other| other.name() == name) {
            return Err(format!("arg `{name}`: duplicate name"));
        }
        let argument =
            ArgumentSpec::resolve(argument).map_err(|reason| format!("arg `{name}`: {reason}"))?;
        arguments.push(argument);
    }
    if !arguments.iter().any(ArgumentSpec::is_output) {
        return Err("arg: no buffer has the role `out` or `inout`".to_owned());
    }
    Ok(arguments)
}

fn resolve_launch(
    typed: Option<TypedLaunch>,
    language: Language,
) -> Result<Option<LaunchSpec>, String> {
    let typed = match (typed, language) {
        (Some(typed), Language::Cuda) => typed,
        (None, Language::Cuda) => return Err("launch: cuda needs `grid` and `block`".to_owned()),
        (Some(_), _) => return Err("launch: allowed only for cuda".to_owned()),
        (None, _) => return Ok(None),
    };
    let shared_bytes = typed.shared_bytes.unwrap_or(Formula::Number(0));
    Ok(Some(LaunchSpec {
        grid: parse_extents("launch.grid", typed.grid)?,
        block: parse_extents("launch.block", typed.block)?,
        shared_bytes: shared_bytes
            .parse()
            .map_err(|reason| format!("launch.shared_bytes: {reason}"))?,
    }))
}

/// One to three extents; the default is 1.
fn parse_extents(key: &str, typed: Vec<Formula>) -> Result<[Expression; 3], String> {
    if typed.is_empty() || typed.len() > 3 {
        return Err(format!("{key}: needs one to three numbers or expressions"));
    }
    let mut parsed = typed.into_iter().map(Formula::parse);
    let mut next = || {
        let extent = parsed.next().unwrap_or_else(|| Ok(Expression::literal(1)));
        extent.map_err(|reason| format!("{key}: {reason}"))
    };
    Ok([next()?, next()?, next()?])
}

/// Rejects values out of range, which are usually in a wrong unit: a timeout in milliseconds, a fraction in
/// percent.
fn check_settings(settings: Settings) -> Result<Settings, String> {
    let Settings {
        repeat,
        max_repeat,
        min_repeat_ms,
        precision,
        max_time_s,
        timeout_build_s,
        timeout_run_s,
        threads,
        ..
    } = settings;
    let limits = [
        ("repeat", f64::from(repeat), 1.0, 100_000.0),
        (
            "max_repeat",
            f64::from(max_repeat),
            f64::from(repeat),
            100_000.0,
        ),
        ("min_repeat_ms", min_repeat_ms, 0.0, 60_000.0),
        ("precision", precision, 0.0, 1.0),
        ("max_time_s", max_time_s, 0.001, 3_600.0),
        ("timeout_build_s", timeout_build_s, 0.1, 86_400.0),
        ("timeout_run_s", timeout_run_s, 0.1, 86_400.0),
        ("threads", f64::from(threads), 1.0, 4_096.0),
    ];
    for (key, value, minimum, maximum) in limits {
        // NaN is in no range.
        if !(minimum..=maximum).contains(&value) {
            return Err(format!(
                "measure.{key}: {value} is not within {minimum} to {maximum}"
            ));
        }
    }
    Ok(settings)
}

/// Checks that every name in an expression is a param or a knob, and none is both.
fn check_names(manifest: &Manifest) -> Result<(), String> {
    let params = manifest.workloads.first().map(|first| first.params.keys());
    let mut declared: BTreeSet<&str> = params.into_iter().flatten().map(String::as_str).collect();
    for knob in manifest.space.knobs() {
        if !declared.insert(&knob.name) {
            return Err(format!("space.{}: a param has this name", knob.name));
        }
    }
    if declared.contains(manifest.program.entry.as_str()) {
        let entry = &manifest.program.entry;
        return Err(format!("program.entry: `{entry}` is a param or a knob too"));
    }
    let require = |key: &str, expressions: &[Expression]| {
        let names = expressions.iter().flat_map(Expression::names);
        match names.into_iter().find(|name| !declared.contains(name)) {
            Some(name) => Err(format!("{key}: `{name}` is neither a param nor a knob")),
            None => Ok(()),
        }
    };
    for argument in &manifest.arguments {
        require(
            &format!("arg `{}`", argument.name()),
            argument.expressions(),
        )?;
    }
    if let Some(launch) = &manifest.launch {
        require("launch.grid", &launch.grid)?;
        require("launch.block", &launch.block)?;
        require(
            "launch.shared_bytes",
            std::slice::from_ref(&launch.shared_bytes),
        )?;
    }
    for constraint in manifest.space.constraints() {
        require("space.constraints", std::slice::from_ref(constraint))?;
    }
    Ok(())
}

/// Checks the sizes of all buffers, as far as they are independent of the configuration.
fn check_sizes(manifest: &Manifest) -> Result<(), String> {
    let knobs = manifest.space.knobs();
    let is_fixed = |argument: &&ArgumentSpec| {
        let mut names = argument.expressions().iter().flat_map(Expression::names);
        !names.any(|name| knobs.iter().any(|knob| knob.name == name))
    };
    let fixed: Vec<ArgumentSpec> = manifest
        .arguments
        .iter()
        .filter(is_fixed)
        .cloned()
        .collect();
    for workload in &manifest.workloads {
        let scope = Scope {
            params: &workload.params,
            config: &Config::new(),
        };
        argument::bind_all(&fixed, scope).map_err(|error| {
            let params = super::python_json::format_integers(&workload.params);
            format!("arg: {} with params {params}", error.message)
        })?;
    }
    Ok(())
}

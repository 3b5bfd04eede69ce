//! A manifest: one program, its workloads, and its configurations.
//!
//! ```text
//! [program]    name, language (c, c++, cuda), source or files, entry, flags, tags
//! [[workload]] params = { M = [128, 512], N = 512 }, flops, bytes      crossed; several tables are concatenated
//! [[arg]]      name, kind = "buffer", dtype, shape, role, init         in the order of the C signature
//! [[arg]]      name, kind = "scalar", dtype, value
//! [space]      TILE_M = [4, 8], TILE_N = { pow2 = [8, 128] }, UNROLL = { range = [1, 8, 1] }, constraints
//! [launch]     grid, block, shared_bytes                               cuda only
//! [check]      reference = { source, entry, language, flags }, rtol, atol, metric
//! [measure]    cache, repeat, min_repeat_ms, timeout_run_s, threads, ...
//! ```
//!
//! The format is TOML, or JSON if the file name ends in `.json`. Params and knobs are macros for the
//! compiler, both of the kernel and of its reference. All errors that do not need a compilation are
//! reported when the manifest is parsed.

mod argument;
mod invalid_config;
mod knobs;
mod launch;
mod names;
mod program;
mod python_json;
mod raw_manifest;
mod resolve;
mod scope;
mod workload;

use std::collections::BTreeMap;

use super::space::{Config, Space};
use super::trial::{Check, Language, Program, Settings, Trial};
use argument::ArgumentSpec;
pub use invalid_config::InvalidConfig;
use launch::LaunchSpec;
use scope::Scope;
pub use workload::Workload;

/// A parsed and valid manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    name: String,
    tags: BTreeMap<String, String>,
    program: Program,
    workloads: Vec<Workload>,
    arguments: Vec<ArgumentSpec>,
    space: Space,
    launch: Option<LaunchSpec>,
    check: Option<Check>,
    settings: Settings,
}

impl Manifest {
    /// Name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Language of the program.
    pub fn language(&self) -> Language {
        self.program.language
    }

    /// Flags of the compiler.
    pub fn flags(&self) -> &[String] {
        &self.program.flags
    }

    /// The program, and its reference, if it has one.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        let reference = self.check.as_ref().map(|check| &check.reference);
        std::iter::once(&self.program).chain(reference)
    }

    /// Timing settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Distinct workloads, in the order of the file.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The configurations; a single one without knobs if the manifest has no `[space]`.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Text of a graph: `["matmul_f32", {"K": 512, "M": 128}]`, with the tags as a third element, if there
    /// are any.
    ///
    /// It is formatted like Python's `json.dumps` with sorted keys.
    pub fn workload_key(&self, params: &BTreeMap<String, i64>) -> String {
        let name = python_json::format_string(&self.name);
        let params = python_json::format_integers(params);
        if self.tags.is_empty() {
            format!("[{name}, {params}]")
        } else {
            format!(
                "[{name}, {params}, {}]",
                python_json::format_texts(&self.tags)
            )
        }
    }

    /// Text of a configuration, in the format of workload keys: `{"TILE_M": 8, "TILE_N": 16}`.
    pub fn config_text(config: &Config) -> String {
        python_json::format_integers(config)
    }

    /// Binds a workload and a configuration.
    ///
    /// # Errors
    /// If they are incompatible: a violated constraint, a missing knob value, a size out of range.
    pub fn trial(
        &self,
        params: &BTreeMap<String, i64>,
        config: &Config,
        seed: u64,
    ) -> Result<Trial, InvalidConfig> {
        self.require_knobs(config)?;
        if let Some(constraint) = self.space.broken_constraint(params, config) {
            return Err(InvalidConfig::new("constraint", constraint));
        }
        let scope = Scope { params, config };
        let launch = self.launch.as_ref().map(|launch| launch.bind(scope));
        Ok(Trial {
            name: self.name.clone(),
            program: self.program.clone(),
            params: params.clone(),
            config: config.clone(),
            arguments: argument::bind_all(&self.arguments, scope)?,
            launch: launch.transpose()?,
            check: self.check.clone(),
            settings: self.settings.clone(),
            seed,
        })
    }

    /// Requires a value for each knob and nothing else. The value need not be in the space.
    fn require_knobs(&self, config: &Config) -> Result<(), InvalidConfig> {
        let knobs = self.space.knobs();
        if let Some(knob) = knobs.iter().find(|knob| !config.contains_key(&knob.name)) {
            let reason = format!("no value for `{}`", knob.name);
            return Err(InvalidConfig::new("config", reason));
        }
        let is_knob = |name: &String| knobs.iter().any(|knob| knob.name == *name);
        match config.keys().find(|name| !is_knob(name)) {
            Some(name) => Err(InvalidConfig::new("config", format!("no knob `{name}`"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

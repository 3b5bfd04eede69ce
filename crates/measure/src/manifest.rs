//! A manifest: one program, the workloads it is measured with, and the configurations it can be built with.
//!
//! ```text
//! [program]    name, language (c, c++, cuda), source or files, entry, flags, tags
//! [[workload]] params = { M = [128, 512], N = 512 }, flops, bytes      crossed; several tables add up
//! [[arg]]      name, kind = "buffer", dtype, shape, role, init         in the order of the C signature
//! [[arg]]      name, kind = "scalar", dtype, value
//! [space]      TILE_M = [4, 8], TILE_N = { pow2 = [8, 128] }, UNROLL = { range = [1, 8, 1] }, constraints
//! [launch]     grid, block, shared_bytes                               cuda, and only there
//! [check]      reference = { source, entry, language, flags }, rtol, atol, metric
//! [measure]    cache, repeat, min_repeat_ms, timeout_run_s, threads, ...
//! ```
//!
//! It is TOML, or JSON where the name of the file ends so. Params and knobs are macros for the compiler, of the kernel
//! as of its reference. All that can be wrong without compiling is refused when it is read.

mod argument;
mod knobs;
mod launch;
mod names;
mod program;
mod refusal;
mod resolve;
mod scope;
mod spelling;
mod typed;
mod workload;

use std::collections::BTreeMap;

use super::space::{Config, Space};
use super::trial::{Check, Language, Program, Settings, Trial};
use argument::ArgumentSpec;
use launch::LaunchSpec;
pub use refusal::Refusal;
use scope::Scope;
pub use workload::Workload;

/// A manifest that was read and found sound.
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

    /// What the program is written in.
    pub fn language(&self) -> Language {
        self.program.language
    }

    /// The compiler's flags.
    pub fn flags(&self) -> &[String] {
        &self.program.flags
    }

    /// What is compiled: the program, and its reference where it has one.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        let reference = self.check.as_ref().map(|check| &check.reference);
        std::iter::once(&self.program).chain(reference)
    }

    /// How it is to be timed.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The workloads, each once, in the order of the file.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The configurations; one without knobs where the manifest says nothing of them.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The graph as one text: `["matmul_f32", {"K": 512, "M": 128}]`, and the tags as a third where there are any.
    /// The spelling is that of Python's `json.dumps` with sorted keys.
    pub fn workload_key(&self, params: &BTreeMap<String, i64>) -> String {
        let name = spelling::text(&self.name);
        let params = spelling::integers(params);
        if self.tags.is_empty() {
            format!("[{name}, {params}]")
        } else {
            format!("[{name}, {params}, {}]", spelling::texts(&self.tags))
        }
    }

    /// A configuration as text: `{"TILE_M": 8, "TILE_N": 16}`, spelled as a workload key is.
    pub fn config_text(config: &Config) -> String {
        spelling::integers(config)
    }

    /// Binds a workload and a configuration, or says why they do not go together.
    ///
    /// # Errors
    /// The refusal: a broken constraint, no value for a knob, a size that is out of range.
    pub fn trial(
        &self,
        params: &BTreeMap<String, i64>,
        config: &Config,
        seed: u64,
    ) -> Result<Trial, Refusal> {
        self.require_knobs(config)?;
        if let Some(constraint) = self.space.broken(params, config) {
            return Err(Refusal::new("constraint", constraint));
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

    /// A value for each knob and nothing else; it need not be one that the space lists.
    fn require_knobs(&self, config: &Config) -> Result<(), Refusal> {
        let knobs = self.space.knobs();
        if let Some(knob) = knobs.iter().find(|knob| !config.contains_key(&knob.name)) {
            let reason = format!("no value for `{}`", knob.name);
            return Err(Refusal::new("config", reason));
        }
        let is_knob = |name: &String| knobs.iter().any(|knob| knob.name == *name);
        match config.keys().find(|name| !is_knob(name)) {
            Some(name) => Err(Refusal::new("config", format!("no knob `{name}`"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

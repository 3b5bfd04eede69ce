//! Derives the timed program and its build from an environment.
//!
//! ```text
//! program   matmul@5c1d0f6b21aa     its name, and a hash of its sources and calls
//! build     cc (Debian 12.2.0-14+deb12u1) 12.2.0 -O3 -march=native     compiler, version, flags
//! ```
//!
//! Workloads, knobs, checks and timing settings are not part of a program. The flags belong to the build.

use serde_json::{Map, Value};
use tsql_codecs::json;
use twox_hash::XxHash3_64;

use crate::rows::{Environment, Kernel};

/// Parts of a manifest that do not affect what is built and called.
const UNRELATED_KEYS: [&str; 4] = ["workload", "space", "check", "measure"];

/// Number of digits of the hash of a program.
const DIGITS: usize = 12;

/// Derives the kernel from `environment`; unknown parts are `None`.
pub fn kernel_of_environment(environment: &Environment) -> Kernel {
    Kernel {
        program: environment.program.as_deref().and_then(program_name),
        build: environment
            .machine
            .as_deref()
            .and_then(|machine| build_description(machine, &environment.target)),
    }
}

fn program_name(text: &str) -> Option<String> {
    let mut program: Map<String, Value> = serde_json::from_str(text).ok()?;
    let name = program.remove("name");
    let file_name = name.as_ref().and_then(Value::as_str).unwrap_or("program");
    if let Some(manifest) = program.get_mut("manifest")
        && let Some(program_part) = manifest
            .as_str()
            .and_then(|text| read_manifest(text, file_name))
    {
        *manifest = program_part;
    }
    let text = json::canonical(&Value::Object(program).to_string())?;
    let digits = format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()));
    let name = file_name
        .strip_suffix(".toml")
        .or(file_name.strip_suffix(".json"));
    Some(format!(
        "{}@{}",
        name.unwrap_or(file_name),
        digits.get(..DIGITS)?
    ))
}

/// Returns the part of a manifest that describes the program itself.
fn read_manifest(text: &str, name: &str) -> Option<Value> {
    let is_json = name.to_ascii_lowercase().ends_with(".json");
    let mut manifest: Map<String, Value> = if is_json {
        serde_json::from_str(text).ok()?
    } else {
        toml::from_str(text).ok()?
    };
    manifest.retain(|key, _| !UNRELATED_KEYS.contains(&key.as_str()));
    if let Some(Value::Object(program)) = manifest.get_mut("program") {
        program.remove("flags");
    }
    Some(Value::Object(manifest))
}

/// Returns compiler, version and flags, with the options of the target, as in `cuda -arch=sm_90`.
pub fn build_description(machine: &str, target: &str) -> Option<String> {
    let machine: Map<String, Value> = serde_json::from_str(machine).ok()?;
    let toolchain = machine.get("toolchain")?.as_object()?;
    let text = |key: &str| toolchain.get(key).and_then(Value::as_str);
    let version = text("version_line")?;
    // A bare version such as `13.0` needs the name of its compiler.
    let name = text("path").filter(|_| version.starts_with(|c: char| c.is_ascii_digit()));
    let name = name.and_then(|path| path.rsplit('/').next());
    let flags = toolchain.get("flags").and_then(Value::as_array);
    let flags = flags.into_iter().flatten().filter_map(Value::as_str);
    let options = target.split_once(' ').map(|(_, options)| options);
    let parts: Vec<&str> = name
        .into_iter()
        .chain([version])
        .chain(options)
        .chain(flags)
        .filter(|part| !part.is_empty())
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::JsonWriter;

    fn environment(target: &str, flags: &str, manifest: &str, source: &str) -> Environment {
        let version = if target == "c" {
            "cc (Debian) 12.2.0"
        } else {
            "13.0"
        };
        let path = if target == "c" {
            "/usr/bin/cc"
        } else {
            "nvrtc"
        };
        Environment {
            target: target.to_owned(),
            log_version: super::super::VERSION.to_owned(),
            machine: Some(format!(
                r#"{{"toolchain": {{"flags": [{flags}], "path": "{path}", "version_line": "{version}"}}}}"#
            )),
            program: Some(format!(
                r#"{{"files": {{"mm.c": "{source}"}}, "manifest": "{manifest}", "name": "mm.toml"}}"#
            )),
            ..Environment::for_writer(JsonWriter::Python)
        }
    }

    #[test]
    fn sources_identify_programs_and_flags_builds() {
        let manifest = |repeat: u32, flags: &str, entry: &str| {
            format!(
                r#"[program]\nentry = \"{entry}\"\nflags = [\"{flags}\"]\n[measure]\nrepeat = {repeat}\n"#
            )
        };
        let kernel_of = |flags: &str, repeat, entry, source| {
            let manifest = manifest(repeat, flags, entry);
            super::kernel_of_environment(&environment(
                "c",
                &format!("\"{flags}\""),
                &manifest,
                source,
            ))
        };
        let fast = kernel_of("-O3", 3, "mm", "int x;");
        assert_eq!(fast.build.as_deref(), Some("cc (Debian) 12.2.0 -O3"));
        let slow = kernel_of("-O0", 9, "mm", "int x;");
        assert_eq!(slow.build.as_deref(), Some("cc (Debian) 12.2.0 -O0"));
        assert_eq!(slow.program, fast.program);
        let name = fast.program.clone().unwrap();
        assert!(
            name.starts_with("mm@") && name.len() == 3 + DIGITS,
            "{name}"
        );
        assert_ne!(kernel_of("-O3", 3, "mm", "int y;").program, fast.program);
        assert_ne!(kernel_of("-O3", 3, "mn", "int x;").program, fast.program);
    }

    #[test]
    fn unknown_parts_are_none() {
        let gpu = environment("cuda -arch=sm_90", "\"-use_fast_math\"", "", "");
        let build = super::kernel_of_environment(&gpu).build;
        assert_eq!(
            build.as_deref(),
            Some("nvrtc 13.0 -arch=sm_90 -use_fast_math")
        );
        for machine in [None, Some("{}"), Some(r#"{"toolchain": null}"#)] {
            let unknown = Environment {
                machine: machine.map(str::to_owned),
                program: None,
                ..gpu.clone()
            };
            assert_eq!(
                super::kernel_of_environment(&unknown),
                Kernel::default(),
                "{machine:?}"
            );
        }
        let other = Environment {
            program: Some(r#"{"commit": "1f3a"}"#.to_owned()),
            ..gpu
        };
        assert!(
            super::kernel_of_environment(&other)
                .program
                .unwrap()
                .starts_with("program@")
        );
    }
}

//! Verification that templates compute the same as their references.
//!
//! Points are sampled with a seed (`TSQL_TEST_SAMPLES` points per template, 4 by default). C kernels run
//! under the address and undefined-behaviour sanitizers. CUDA kernels run on the host through
//! `proofs/cuda_shim.h`, in two thread orders.

#![expect(
    clippy::print_stderr,
    clippy::too_many_lines,
    clippy::write_with_newline,
    reason = "a tool that prints figures and writes a C program"
)]

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::manifest::Manifest;
use crate::search::{Search, SearchStrategy};
use crate::trial::{Argument, Init, Language, Role, Trial, Value};

fn sample_count() -> usize {
    std::env::var("TSQL_TEST_SAMPLES").map_or(4, |n| n.parse().unwrap())
}

/// Sizes that are multiples of tiles and sizes that are not, small enough for a sanitizer.
fn sizes(name: &str) -> Vec<&'static str> {
    match name.trim_end_matches("-cuda") {
        "matmul" => vec![
            "M=64 N=64 K=32",
            "M=37 N=83 K=53",
            "M=1 N=3 K=5",
            "M=70 N=132 K=68",
        ],
        "batched-matmul" => vec![
            "BATCH=3 M=32 N=64 K=32",
            "BATCH=2 M=37 N=83 K=53",
            "BATCH=5 M=1 N=2 K=3",
        ],
        "conv2d" => vec![
            "BATCH=2 CHANNELS=8 HEIGHT=16 WIDTH=16 FILTERS=8 KERNEL=3 STRIDE=1 PAD=1",
            "BATCH=1 CHANNELS=5 HEIGHT=13 WIDTH=17 FILTERS=11 KERNEL=5 STRIDE=2 PAD=2",
            "BATCH=2 CHANNELS=3 HEIGHT=9 WIDTH=37 FILTERS=6 KERNEL=1 STRIDE=1 PAD=0",
            "BATCH=1 CHANNELS=3 HEIGHT=11 WIDTH=10 FILTERS=2 KERNEL=3 STRIDE=3 PAD=0",
        ],
        "depthwise-conv2d" => vec![
            "BATCH=2 HEIGHT=16 WIDTH=16 CHANNELS=64 KERNEL=3 STRIDE=1 PAD=1",
            "BATCH=1 HEIGHT=13 WIDTH=17 CHANNELS=36 KERNEL=5 STRIDE=2 PAD=2",
            "BATCH=2 HEIGHT=9 WIDTH=11 CHANNELS=7 KERNEL=3 STRIDE=2 PAD=0",
        ],
        "softmax" | "layer-norm" | "row-sum" => vec![
            "ROWS=8 COLUMNS=256",
            "ROWS=5 COLUMNS=1031",
            "ROWS=3 COLUMNS=7",
            "ROWS=9 COLUMNS=1500",
            "ROWS=1 COLUMNS=1",
        ],
        "transpose" => vec![
            "ROWS=128 COLUMNS=64",
            "ROWS=67 COLUMNS=131",
            "ROWS=1 COLUMNS=3",
            "ROWS=300 COLUMNS=9",
        ],
        other => panic!("no sizes for {other}"),
    }
}

fn params(text: &str) -> BTreeMap<String, i64> {
    text.split(' ')
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

fn sample_trials(
    manifest: &Manifest,
    params: &BTreeMap<String, i64>,
    seed: u64,
    count: usize,
) -> Vec<Trial> {
    let space = manifest.space().clone();
    Search::new(
        SearchStrategy::Random,
        space,
        params.clone(),
        seed,
        &HashSet::new(),
    )
    .take(count)
    .map(|config| manifest.trial(params, &config, seed).unwrap())
    .collect()
}

fn macros(trial: &Trial) -> Vec<String> {
    let all = trial.params.iter().chain(&trial.config);
    all.map(|(name, value)| format!("-D{name}={value}"))
        .collect()
}

/// A program that initializes the arguments, runs kernel and reference, and fails if their outputs differ.
fn harness(trial: &Trial) -> String {
    let is_cuda = trial.program.language == Language::Cuda;
    let (mut globals, mut fill, mut kernel_arguments, mut reference_arguments, mut compare) =
        <(String, String, String, String, String)>::default();
    let (mut kernel_types, mut reference_types) = (vec![], vec![]);
    for (index, argument) in trial.arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        match argument {
            Argument::Buffer {
                shape, role, init, ..
            } => {
                let count: u64 = shape.iter().product();
                write!(globals, "static float *m{index}, *r{index};\n").unwrap();
                write!(
                    fill,
                    "m{index} = allocate({count}); r{index} = allocate({count});\n"
                )
                .unwrap();
                if let (Role::In, Init::Uniform { low, high }) = (role, init) {
                    write!(fill, "for (long i = 0; i < {count}; i++) m{index}[i] = r{index}[i] = {low:?} + ({high:?} - ({low:?})) * uniform();\n").unwrap();
                } else {
                    write!(compare, "compare(m{index}, r{index}, {count});\n").unwrap();
                }
                let constant = if *role == Role::In { "const " } else { "" };
                write!(kernel_arguments, "{comma}m{index}").unwrap();
                write!(reference_arguments, "{comma}r{index}").unwrap();
                kernel_types.push(format!("{constant}float *"));
                reference_types.push(format!("{constant}float *"));
            }
            Argument::Scalar {
                value: Value::Float(value),
                ..
            } => {
                write!(kernel_arguments, "{comma}{value:?}").unwrap();
                write!(reference_arguments, "{comma}{value:?}").unwrap();
                kernel_types.push("float".to_owned());
                reference_types.push("float".to_owned());
            }
            Argument::Scalar { .. } => panic!("no template has it"),
        }
    }
    let check = trial.check.as_ref().unwrap();
    let entry = &trial.program.entry;
    let (kernel, call) = match trial.launch {
        Some(launch) => (
            format!(
                "#include \"cuda_shim.h\"\n#include \"{}\"\n",
                trial.program.sources[0].name
            ),
            format!(
                "static const unsigned grid[] = {{{}, {}, {}}}, block[] = {{{}, {}, {}}}; shim::launch(grid, block, [] {{ {entry}({kernel_arguments}); }});",
                launch.grid[0],
                launch.grid[1],
                launch.grid[2],
                launch.block[0],
                launch.block[1],
                launch.block[2]
            ),
        ),
        None => (
            format!("void {entry}({});\n", kernel_types.join(", ")),
            format!("{entry}({kernel_arguments});"),
        ),
    };
    let c = if is_cuda { "extern \"C\" " } else { "" };
    let (rtol, atol) = (check.rtol, check.atol);
    let (low, high) = (trial.seed, "2862933555777941757UL");
    format!(
        r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
{kernel}
{c}void reference({reference_types});
{globals}
static unsigned long state = {low} + 88172645463325252UL;
static double uniform(void) {{ state = state * {high} + 3037000493UL; return (double)(state >> 11) / 9007199254740992.0; }}
static float *allocate(long n) {{
#ifdef __cplusplus
    /* The address sanitizer is off here: the buffer ends where a page begins that cannot be touched. */
    long bytes = (n * 4 + 4095) / 4096 * 4096;
    char *start = (char *)mmap(0, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(start, 4096, PROT_NONE), mprotect(start + 4096 + bytes, 4096, PROT_NONE);
    memset(start + 4096, 0xff, bytes);
    float *p = (float *)(start + 4096 + bytes - n * 4);
#else
    float *p = (float *)malloc(n * 4);
    memset(p, 0xff, n * 4);
#endif
    return p;
}}
static void compare(const float *actual, const float *expected, long n) {{
    double difference = 0, norm = 0;
    for (long i = 0; i < n; i++) {{
        if (!isfinite(actual[i]) || !isfinite(expected[i])) {{ printf("at %ld of %ld: %g, not %g\n", i, n, actual[i], expected[i]); exit(1); }}
        difference += ((double)actual[i] - expected[i]) * ((double)actual[i] - expected[i]);
        norm += (double)expected[i] * expected[i];
    }}
    if (norm == 0) {{ printf("the reference is all zeros\n"); exit(1); }}
    double error = sqrt(difference / norm);
    if (!(error <= {rtol:?}) && !(sqrt(difference) <= {atol:?})) {{ printf("relative error %g\n", error); exit(1); }}
    printf("%g\n", error);
}}
int main(int count, char **words) {{
    {fill}
    {call}
    reference({reference_arguments});
    {compare}
    if (count > 1) {{
        double minimum = 1e9;
        for (int t = 0; t < 30; t++) {{
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            {call}
            clock_gettime(CLOCK_MONOTONIC, &b);
            double ms = (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6;
            minimum = ms < minimum ? ms : minimum;
        }}
        printf("%g ms\n", minimum);
    }}
    (void)words;
    return 0;
}}
"#,
        reference_types = reference_types.join(", ")
    )
}

fn shell(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{}\n{text}", output.status))
    }
}

/// Compiles and runs `trial` in `folder`. Returns its output.
fn run(trial: &Trial, folder: &Path) -> Result<String, String> {
    let is_cuda = trial.program.language == Language::Cuda;
    let check = trial.check.as_ref().unwrap();
    for source in trial.program.sources.iter().chain(&check.reference.sources) {
        std::fs::write(folder.join(&source.name), &source.text).unwrap();
    }
    std::fs::write(
        folder.join("cuda_shim.h"),
        include_str!("proofs/cuda_shim.h"),
    )
    .unwrap();
    let main = if is_cuda { "main.cpp" } else { "main.c" };
    std::fs::write(folder.join(main), harness(trial)).unwrap();
    // Fibers are incompatible with the address sanitizer; the other sanitizer checks the bounds of shared
    // arrays.
    let sanitize = if is_cuda {
        "-fsanitize=undefined"
    } else {
        "-fsanitize=address,undefined"
    };
    let flags = [sanitize, "-fno-sanitize-recover=all", "-O1", "-g"];
    shell(
        Command::new("cc")
            .current_dir(folder)
            .args(flags)
            .args(macros(trial))
            .args(&check.reference.flags)
            .args(["-c", "reference.c", "-o", "reference.o"]),
    )?;
    if is_cuda {
        shell(
            Command::new("g++")
                .current_dir(folder)
                .args(flags)
                .args(["-std=c++17", "-fno-strict-aliasing", "-Wno-unknown-pragmas"])
                .args(macros(trial))
                .args(["main.cpp", "reference.o", "-o", "proof"]),
        )?;
    } else {
        let kernel_flags: Vec<&String> = trial
            .program
            .flags
            .iter()
            .filter(|flag| *flag != "-O3")
            .collect();
        let kernel = &trial.program.sources[0].name;
        shell(
            Command::new("cc")
                .current_dir(folder)
                .args(flags)
                .args(kernel_flags)
                .args(macros(trial))
                .args([
                    "-Wall",
                    "-Wno-psabi",
                    "-Wno-unused-function",
                    "-Wno-unknown-pragmas",
                    "-shared",
                    "-fPIC",
                    kernel,
                    "-o",
                    "libkernel.so",
                ]),
        )?;
        shell(
            Command::new("cc")
                .current_dir(folder)
                .args(flags)
                .arg("-w")
                .arg("main.c")
                .arg("reference.o")
                .arg("libkernel.so")
                .args(["-lm", "-Wl,-rpath,$ORIGIN", "-o", "proof"]),
        )?;
    }
    let mut text = String::new();
    for order in if is_cuda { vec!["0", "1"] } else { vec!["0"] } {
        text += &shell(
            Command::new(folder.join("proof"))
                .env("SHIM_ORDER", order)
                .env("ASAN_OPTIONS", "detect_leaks=0"),
        )?;
    }
    Ok(text)
}

fn prove(language: Language, trial_count: usize) {
    for template in super::list() {
        let manifest = super::tests::open(template);
        if manifest.language() != language {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let all = sizes(template.name);
        let mut worst: f64 = 0.0;
        let mut checked = 0;
        for (index, size) in all.iter().enumerate() {
            let seed = u64::try_from(index).unwrap() + 11;
            for trial in sample_trials(
                &manifest,
                &params(size),
                seed,
                trial_count.div_ceil(all.len()),
            ) {
                match run(&trial, folder.path()) {
                    Ok(text) => {
                        worst = text
                            .lines()
                            .map(|line| line.parse().unwrap())
                            .fold(worst, f64::max)
                    }
                    Err(text) => panic!("{} {size} {:?}\n{text}", template.name, trial.config),
                }
                checked += 1;
            }
        }
        eprintln!(
            "{}: {checked} points, largest error {worst:e}, {} in the space",
            template.name,
            manifest.space().size()
        );
    }
}

#[test]
#[ignore = "full tier"]
fn c_templates_match_their_references() {
    prove(Language::C, sample_count());
}

#[test]
#[ignore = "full tier"]
fn cuda_templates_emulated_on_the_host_match_their_references() {
    prove(Language::Cuda, sample_count());
}

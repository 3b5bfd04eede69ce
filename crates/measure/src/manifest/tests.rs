use super::super::trial::{Argument, Cache, Dtype, Init, Launch, Metric, Role, Value};
use super::*;
use crate::error::{Error, Result};

const MATMUL: &str = r#"
[program]
name = "matmul_f32"
language = "c"
source = "matmul.c"
entry = "matmul"
flags = ["-O3"]
tags = { op = "matmul", dtype = "f32" }

[[workload]]
params = { M = [128, 512], N = 512, K = [512] }
flops = "2*M*N*K"
bytes = "4*(M*K+K*N+M*N)"

[[workload]]
params = { M = [512, 7], N = 512, K = 512 }

[[arg]]
name = "A"
kind = "buffer"
dtype = "f32"
shape = ["M", "K"]
role = "in"
init = "uniform(-0.5, 0.5)"

[[arg]]
name = "C"
kind = "buffer"
dtype = "f32"
shape = ["M", "N"]
role = "out"

[[arg]]
name = "M"
kind = "scalar"
dtype = "i64"
value = "M"

[[arg]]
name = "alpha"
kind = "scalar"
dtype = "f32"
value = 0.5

[space]
TILE_M = [4, 8, 24]
TILE_N = { pow2 = [8, 128] }
UNROLL = { range = [1, 8, 3] }
constraints = ["M % TILE_M == 0", "TILE_M*TILE_N <= 512"]

[check]
reference = { source = "ref.c", entry = "matmul_ref" }
rtol = 1e-3

[measure]
cache = "cold"
repeat = 5
"#;

const CUDA: &str = r#"
[program]
name = "add"
language = "cuda"
source = "add.cu"
entry = "add"

[[workload]]
params = { N = 1000 }

[[arg]]
name = "X"
kind = "buffer"
dtype = "i32"
shape = ["N"]
role = "inout"

[space]
THREADS = [0, 32, 1024, 2048]

[launch]
grid = ["ceildiv(N, max(THREADS, 1))"]
block = ["THREADS", 1]
shared_bytes = "4*THREADS"
"#;

fn parse(text: &str) -> Result<Manifest> {
    parse_named(text, "m.toml")
}

fn parse_named(text: &str, name: &str) -> Result<Manifest> {
    Manifest::parse(text, name, &|source| Ok(format!("text of {source}")))
}

fn matmul() -> Manifest {
    parse(MATMUL).unwrap()
}

fn map(pairs: &[(&str, i64)]) -> BTreeMap<String, i64> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

/// The error if `from` is replaced by `to` in `text`.
fn rejection(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in it");
    match parse(&text.replacen(from, to, 1)) {
        Ok(_) => panic!("`{to}` was let through"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn sizes_are_crossed_and_tables_concatenated_without_duplicates() {
    let manifest = matmul();
    let sizes: Vec<i64> = manifest.workloads().iter().map(|w| w.params["M"]).collect();
    assert_eq!(sizes, [128, 512, 7]);
    let first = &manifest.workloads()[0];
    assert_eq!(first.flops, Some(2.0 * 128.0 * 512.0 * 512.0));
    assert_eq!(
        first.bytes,
        Some(4.0 * (128.0 * 512.0 + 512.0 * 512.0 + 128.0 * 512.0))
    );
    assert_eq!(manifest.workloads()[2].flops, None);
}

/// Expected: `json.dumps` of Python on the same list.
#[test]
fn keys_are_spelled_as_python_does() {
    let manifest = matmul();
    let params = map(&[("M", 128), ("N", 512), ("K", 512)]);
    assert_eq!(
        manifest.workload_key(&params),
        r#"["matmul_f32", {"K": 512, "M": 128, "N": 512}, {"dtype": "f32", "op": "matmul"}]"#
    );
    let untagged = parse(&MATMUL.replace("tags = ", "# ")).unwrap();
    assert_eq!(
        untagged.workload_key(&params),
        r#"["matmul_f32", {"K": 512, "M": 128, "N": 512}]"#
    );
    assert_eq!(
        Manifest::config_text(&map(&[("TILE_N", 16), ("TILE_M", 8)])),
        r#"{"TILE_M": 8, "TILE_N": 16}"#
    );
}

#[test]
fn knobs_become_lists_of_values() {
    let manifest = matmul();
    let knobs = manifest.space().knobs();
    assert_eq!(knobs[0].values, [4, 8, 24]);
    assert_eq!(knobs[1].values, [8, 16, 32, 64, 128]);
    assert_eq!(knobs[2].values, [1, 4, 7]);
}

#[test]
fn a_trial_has_everything_bound() {
    let manifest = matmul();
    let params = &manifest.workloads()[0].params;
    let config = map(&[("TILE_M", 8), ("TILE_N", 16), ("UNROLL", 4)]);
    let trial = manifest.trial(params, &config, 7).unwrap();
    assert_eq!(trial.name, "matmul_f32");
    assert_eq!((&trial.params, &trial.config), (params, &config));
    assert_eq!(
        trial.arguments,
        [
            Argument::Buffer {
                name: "A".to_owned(),
                dtype: Dtype::F32,
                shape: vec![128, 512],
                role: Role::In,
                init: Init::Uniform {
                    low: -0.5,
                    high: 0.5
                },
            },
            Argument::Buffer {
                name: "C".to_owned(),
                dtype: Dtype::F32,
                shape: vec![128, 512],
                role: Role::Out,
                init: Init::Constant { value: 0.0 },
            },
            Argument::Scalar {
                name: "M".to_owned(),
                dtype: Dtype::I64,
                value: Value::Integer(128),
            },
            Argument::Scalar {
                name: "alpha".to_owned(),
                dtype: Dtype::F32,
                value: Value::Float(0.5),
            },
        ]
    );
    assert_eq!(trial.program.sources[0].text, "text of matmul.c");
    assert_eq!(trial.launch, None);
    assert_eq!(trial.seed, 7);
    let check = trial.check.unwrap();
    assert_eq!(check.reference.sources[0].name, "ref.c");
    assert_eq!(check.reference.language, Language::C);
    assert_eq!(
        (check.rtol, check.atol, check.metric),
        (1e-3, 1e-5, Metric::RelL2)
    );
    assert_eq!(trial.settings.cache, Cache::Cold);
    assert_eq!((trial.settings.repeat, trial.settings.max_repeat), (5, 500));
}

#[test]
fn an_impossible_configuration_is_rejected_with_a_reason() {
    let manifest = matmul();
    let message = |config: &[(&str, i64)]| {
        let params = &manifest.workloads()[0].params;
        let trial = manifest.trial(params, &map(config), 0);
        trial.unwrap_err().message
    };
    assert_eq!(
        message(&[("TILE_M", 24), ("TILE_N", 8), ("UNROLL", 1)]),
        "constraint: M % TILE_M == 0"
    );
    assert_eq!(
        message(&[("TILE_M", 0), ("TILE_N", 8), ("UNROLL", 1)]),
        "constraint: division by zero in `M % TILE_M == 0`"
    );
    assert_eq!(
        message(&[("TILE_M", 8), ("TILE_N", 8)]),
        "config: no value for `UNROLL`"
    );
    assert_eq!(
        message(&[("TILE_M", 8), ("TILE_N", 8), ("UNROLL", 1), ("X", 1)]),
        "config: no knob `X`"
    );
}

#[test]
fn a_launch_beyond_all_devices_is_rejected() {
    let manifest = parse(CUDA).unwrap();
    let launch = |threads| {
        let params = &manifest.workloads()[0].params;
        let trial = manifest.trial(params, &map(&[("THREADS", threads)]), 0);
        trial.map(|trial| trial.launch.unwrap())
    };
    assert_eq!(
        launch(32),
        Ok(Launch {
            grid: [32, 1, 1],
            block: [32, 1, 1],
            shared_bytes: 128
        })
    );
    assert_eq!(
        launch(0).unwrap_err().message,
        "launch_bounds: block.x of 0 is not within 1..=1024"
    );
    assert_eq!(
        launch(2048).unwrap_err().message,
        "launch_bounds: block.x of 2048 is not within 1..=1024"
    );
    let wide = parse(&CUDA.replace("\"THREADS\", 1]", "\"THREADS\", 2]")).unwrap();
    let params = &wide.workloads()[0].params;
    let trial = wide.trial(params, &map(&[("THREADS", 1024)]), 0);
    assert_eq!(
        trial.unwrap_err().message,
        "launch_bounds: block of 1024 x 2 x 1 is 2048 threads, more than 1024"
    );
}

#[test]
fn missing_sections_mean_one_workload_one_configuration_and_no_check() {
    let text = CUDA
        .replace("[[workload]]\nparams = { N = 1000 }", "")
        .replace("[space]\nTHREADS = [0, 32, 1024, 2048]", "")
        .replace("THREADS", "32")
        .replace("(N,", "(64,")
        .replace("[\"N\"]", "[64]");
    let manifest = parse(&text).unwrap();
    assert_eq!(manifest.workloads().len(), 1);
    assert_eq!(manifest.space().size(), 1);
    let trial = manifest.trial(&BTreeMap::new(), &Config::new(), 0).unwrap();
    assert_eq!(trial.check, None);
    assert_eq!(trial.settings, Settings::default());
    assert_eq!(trial.launch.unwrap().grid, [2, 1, 1]);
}

#[test]
fn unknown_keys_are_rejected_with_file_and_line() {
    assert!(
        rejection(MATMUL, "entry = \"matmul\"", "entri = \"matmul\"")
            .starts_with("m.toml:6: unknown field `entri`")
    );
    assert!(rejection(MATMUL, "repeat = 5", "repeats = 5").starts_with("m.toml:"));
    assert!(rejection(MATMUL, "rtol", "samples").contains("unknown field `samples`"));
    assert!(rejection(MATMUL, "role = \"out\"", "roll = \"out\"").contains("`roll`"));
    assert!(rejection(MATMUL, "[check]", "[checks]").contains("`checks`"));
    assert!(rejection(MATMUL, "pow2 = [8, 128]", "pow3 = [8, 128]").contains("pow2 = [low, high]"));
    assert!(rejection(MATMUL, "[program]", "[program").starts_with("m.toml:2: "));
    assert!(rejection(MATMUL, "entry = \"matmul\"\n", "").contains("missing field `entry`"));
    assert!(rejection(MATMUL, "\"c\"", "\"fortran\"").contains("unknown variant `fortran`"));
}

#[test]
fn unknown_or_clashing_names_are_rejected() {
    let with = |from, to| rejection(MATMUL, from, to);
    assert_eq!(
        with("[\"M\", \"K\"]", "[\"M\", \"Q\"]"),
        "m.toml: arg `A`: `Q` is neither a param nor a knob"
    );
    assert!(with("\"2*M*N*K\"", "\"2*Q\"").contains("workload 1: flops: unknown name `Q`"));
    assert!(with("\"2*M*N*K\"", "\"2*TILE_M\"").contains("unknown name `TILE_M`"));
    assert!(with("\"M % TILE_M", "\"Q % TILE_M").contains("space.constraints: `Q`"));
    assert!(with("TILE_M = [", "M = [").contains("space.M: a param has this name"));
    assert!(with("UNROLL =", "\"UN-ROLL\" =").contains("`UN-ROLL` is not a C identifier"));
    assert!(with("UNROLL =", "int =").contains("`int` is a keyword of the language"));
    assert!(with("UNROLL =", "max =").contains("`max` is a function"));
    assert!(with("UNROLL =", "__X =").contains("`__X` is reserved"));
    assert!(with("name = \"C\"", "name = \"A\"").contains("arg `A`: duplicate name"));
    assert!(with("entry = \"matmul\"", "entry = \"a b\"").contains("program.entry: `a b`"));
    assert!(with("N = 512, K = 512 }", "N = 512 }").contains("workload 2: its params"));
}

#[test]
fn invalid_arguments_are_rejected() {
    let with = |from, to| rejection(MATMUL, from, to);
    assert!(with("role = \"out\"", "role = \"in\"").contains("no buffer has the role `out`"));
    assert!(with("shape = [\"M\", \"K\"]\n", "").contains("arg `A`: a buffer needs `shape`"));
    assert!(with("value = \"M\"", "role = \"in\"").contains("arg `M`: a scalar needs `value`"));
    assert!(with("value = \"M\"", "value = 0.5").contains("value 0.5 is not an integer"));
    assert!(with("-0.5, 0.5", "0.5, -0.5").contains("0.5 is above -0.5"));
    assert!(with("uniform(-0.5, 0.5)", "normal(0, 1)").contains("expected `uniform(low, high)`"));
    assert!(
        with("[\"M\", \"K\"]", "[\"M - M\", \"K\"]").contains("`M - M` is 0, expected 1 or more")
    );
    let bytes = rejection(
        CUDA,
        "role = \"inout\"",
        "role = \"inout\"\ninit = \"uniform(0, 1e10)\"",
    );
    assert!(bytes.contains("its values do not fit the type"));
}

#[test]
fn buffers_over_16_gib_are_rejected_despite_overflow() {
    let with = |n: &str| rejection(CUDA, "N = 1000", &format!("N = {n}"));
    assert!(parse(&CUDA.replace("N = 1000", "N = 4294967296")).is_ok());
    assert!(with("4294967297").contains("size: buffers of 17179869188 bytes, more than"));
    assert!(with("9223372036854775807").contains("more than 17179869184"));
    let squared = CUDA.replace("[\"N\"]", "[\"N\", \"N\", \"N\"]");
    assert!(
        rejection(&squared, "N = 1000", "N = 4611686018427387904").contains("size: buffers of")
    );
}

#[test]
fn a_buffer_sized_by_a_knob_is_checked_with_the_configuration() {
    let text = CUDA.replace("[\"N\"]", "[\"N\", \"THREADS\"]");
    let manifest = parse(&text.replace("N = 1000", "N = 1000000000")).unwrap();
    let params = &manifest.workloads()[0].params;
    let trial = manifest.trial(params, &map(&[("THREADS", 32)]), 0);
    assert!(trial.unwrap_err().message.starts_with("size: buffers of"));
}

#[test]
fn launch_is_for_cuda_and_for_nothing_else() {
    assert!(rejection(CUDA, "[launch]", "[measure]").contains("m.toml:"));
    assert_eq!(
        rejection(CUDA, "\"cuda\"", "\"c\""),
        "m.toml: launch: allowed only for cuda"
    );
    assert_eq!(
        rejection(MATMUL, "\"c\"", "\"cuda\""),
        "m.toml: launch: cuda needs `grid` and `block`"
    );
    assert!(
        rejection(CUDA, "[\"THREADS\", 1]", "[1, 1, 1, 1]").contains("launch.block: needs one")
    );
}

#[test]
fn settings_and_tolerances_out_of_range_are_rejected() {
    let with = |to| rejection(MATMUL, "repeat = 5", to);
    assert_eq!(
        with("repeat = 0"),
        "m.toml: measure.repeat: 0 is not within 1 to 100000"
    );
    assert!(with("repeat = 600").contains("measure.max_repeat: 500 is not within 600"));
    assert!(with("precision = 5.0").contains("measure.precision"));
    assert!(with("max_time_s = nan").contains("measure.max_time_s: NaN"));
    assert!(with("threads = 0").contains("measure.threads"));
    assert!(rejection(MATMUL, "rtol = 1e-3", "rtol = -1.0").contains("check.rtol: -1"));
    assert!(rejection(MATMUL, "rtol = 1e-3", "rtol = inf").contains("check.rtol: inf"));
}

#[test]
fn invalid_spaces_are_rejected() {
    let with = |to| rejection(MATMUL, "[4, 8, 24]", to);
    assert!(with("[]").contains("space.TILE_M: no values"));
    assert!(with("[4, 8, 4]").contains("space.TILE_M: duplicate value 4"));
    assert!(with("{ pow2 = [3, 8] }").contains("two powers of two"));
    assert!(with("{ pow2 = [16, 8] }").contains("two powers of two"));
    assert!(with("{ range = [1, 8, 0] }").contains("a step above 0"));
    assert!(with("{ range = [0, 9223372036854775807, 1] }").contains("more than 65536 values"));
    assert!(with("[1.5]").contains("expected a list of integers"));
    assert!(rejection(MATMUL, "M % TILE_M == 0", "M %").contains("space.constraints: a value"));
}

#[test]
fn json_and_toml_manifests_are_equal() {
    let json: toml::Value = toml::from_str(MATMUL).unwrap();
    let text = serde_json::to_string_pretty(&json).unwrap();
    let from_json = parse_named(&text, "m.json").unwrap();
    let from_toml = matmul();
    assert_eq!(from_json.workloads(), from_toml.workloads());
    let params = &from_toml.workloads()[0].params;
    let config = map(&[("TILE_M", 8), ("TILE_N", 16), ("UNROLL", 4)]);
    assert_eq!(
        from_json.trial(params, &config, 1),
        from_toml.trial(params, &config, 1)
    );
    let error = parse_named("{\n  \"program\": 1\n}", "m.json").unwrap_err();
    assert!(error.to_string().starts_with("m.json:2: invalid type"));
}

fn load(path: &std::path::Path) -> Result<Manifest> {
    let text = std::fs::read_to_string(path).unwrap();
    let folder = path.parent().unwrap();
    Manifest::parse(&text, "m.toml", &|source| {
        let path = folder.join(source);
        std::fs::read_to_string(&path).map_err(Error::io(path))
    })
}

#[test]
fn sources_are_read_beside_the_manifest_and_named_within_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub");
    std::fs::create_dir_all(&path).unwrap();
    let text = MATMUL.replace("source = \"matmul.c\"", "files = [\"a/x.c\", \"../y.h\"]");
    std::fs::write(path.join("m.toml"), text).unwrap();
    let missing = load(&path.join("m.toml")).unwrap_err();
    assert!(missing.to_string().contains("x.c: "), "{missing}");
    std::fs::create_dir_all(path.join("a")).unwrap();
    std::fs::write(path.join("a/x.c"), "x").unwrap();
    std::fs::write(folder.path().join("y.h"), "y").unwrap();
    std::fs::write(path.join("ref.c"), "r").unwrap();
    let manifest = load(&path.join("m.toml")).unwrap();
    let sources = &manifest.program.sources;
    assert_eq!(
        (sources[0].name.as_str(), sources[0].text.as_str()),
        ("a/x.c", "x")
    );
    assert_eq!(
        (sources[1].name.as_str(), sources[1].text.as_str()),
        ("y.h", "y")
    );
    assert!(
        rejection(
            MATMUL,
            "source = \"matmul.c\"",
            "files = [\"x.c\", \"../x.c\"]"
        )
        .contains("two files named `x.c`")
    );
    assert!(rejection(MATMUL, "source = \"matmul.c\"", "files = []").contains("program: needs"));
}

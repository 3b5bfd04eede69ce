//! Samples: a directory with `graph_net.json`, the captured graph and metadata of its tensors. Decides which files the
//! columns reproduce byte for byte and which must be stored as text.

use std::collections::BTreeMap;

use tsql_codecs::identity::ContentHasher;
use tsql_codecs::tensors::{self, Tensor};

use super::constraints::{self, Constraints};
use super::{meta, paddle, program, render};

/// File that marks a directory as a sample.
pub const METADATA: &str = "graph_net.json";
const MODEL: &str = "model.py";
const GRAPH_HASH: &str = "graph_hash.txt";
const WEIGHTS: &str = "weight_meta.py";
const INPUTS: &str = "input_meta.py";
const CONSTRAINTS: &str = "input_tensor_constraints.py";

/// Names that constraints import from sympy, most frequent first.
const SYMPY_IMPORTS: [&str; 3] = ["Symbol", "Symbol, Expr, Rel, Eq", ""];

/// File of a sample.
#[derive(Clone, Debug)]
pub struct SampleFile {
    /// Path relative to the sample directory.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// XXH3-128 of the content, in hex.
    pub content_hash: String,
}

impl SampleFile {
    /// Creates a file and computes its hash.
    pub fn new(name: String, bytes: Vec<u8>) -> Self {
        Self {
            name,
            content_hash: ContentHasher::hash_bytes(&bytes),
            bytes,
        }
    }
}

/// Content of one directory.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Path relative to the sample directory; empty for the sample itself, else the directory of a variant.
    pub folder: String,
    /// `torch` or `paddle`.
    pub framework: &'static str,
    /// Graph of `model.py`, if it could be parsed.
    pub program: Option<program::Program>,
    /// Text of `graph_net.json`.
    pub metadata: Option<String>,
    /// Content of `graph_hash.txt`.
    pub upstream_hash: Option<String>,
    /// XXH3-128 of `model.py`, in hex.
    pub model_hash: Option<String>,
    /// Text before the class in model.py.
    pub prelude: Option<String>,
    /// Paddle: information in model.py that is not in the graph.
    pub layout: Option<Vec<u8>>,
    /// Torch: one letter per argument for its annotation, if they do not follow from the kinds of the tensors.
    pub annotations: Option<String>,
    /// Tensors, those of `weight_meta.py` first.
    pub tensors: Vec<Tensor>,
    /// Number of tensors of `weight_meta.py`.
    pub weight_count: usize,
    /// Symbols of the constraints with their example values, as `S0=1,S1=224`.
    pub symbols: Option<String>,
    /// Names that the constraints import from sympy.
    pub symbol_imports: Option<&'static str>,
    /// File, line (0 for the whole file) and reason.
    pub problems: Vec<(String, u64, String)>,
}

/// Sample with its variants, and which of its files must be stored as text.
#[derive(Clone, Debug)]
pub struct ParsedSampleFiles {
    /// Samples, the sample itself first.
    pub samples: Vec<Sample>,
    /// For each file the index of its sample, and whether the columns reproduce it.
    pub files: Vec<(usize, bool)>,
}

/// Parses the files of a sample.
pub fn read(files: &[SampleFile]) -> ParsedSampleFiles {
    let mut folders: BTreeMap<&str, Vec<usize>> = BTreeMap::from([("", Vec::new())]);
    for (index, file) in files.iter().enumerate() {
        let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = file_name(&file.name);
        let is_variant_file = [WEIGHTS, INPUTS, MODEL, CONSTRAINTS].contains(&name);
        let is_known = folders.contains_key(folder);
        folders
            .entry(if is_known || is_variant_file {
                folder
            } else {
                ""
            })
            .or_default()
            .push(index);
    }
    let mut parsed = ParsedSampleFiles {
        samples: Vec::new(),
        files: vec![(0, false); files.len()],
    };
    for (folder, indexes) in folders {
        let folder_files: Vec<&SampleFile> = indexes
            .iter()
            .filter_map(|&index| files.get(index))
            .collect();
        let framework = parsed.samples.first().map(|main| main.framework);
        let (sample, flags) = read_folder(folder, &folder_files, framework);
        for (&index, is_rebuilt) in indexes.iter().zip(flags) {
            if let Some(slot) = parsed.files.get_mut(index) {
                *slot = (parsed.samples.len(), is_rebuilt);
            }
        }
        parsed.samples.push(sample);
    }
    parsed
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Parses one directory. The flag of a file is true if the columns reproduce it. A variant has the framework of
/// its sample.
fn read_folder(
    folder: &str,
    files: &[&SampleFile],
    framework: Option<&'static str>,
) -> (Sample, Vec<bool>) {
    let mut sample = Sample {
        folder: folder.to_owned(),
        ..Sample::default()
    };
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files {
        match std::str::from_utf8(&file.bytes) {
            Ok(text) => {
                texts.insert(file_name(&file.name), text);
            }
            Err(error) => {
                let valid_prefix = file.bytes.get(..error.valid_up_to()).unwrap_or(&[]);
                let line = 1 + valid_prefix.iter().filter(|&&byte| byte == b'\n').count() as u64;
                sample.add_problem(&file.name, line, "not UTF-8");
            }
        }
    }
    let text = |name: &str| texts.get(name).copied();
    sample.metadata(text(METADATA));
    sample.model(text(MODEL), files);
    sample.framework = match (&sample.program, &sample.metadata, framework) {
        (Some(program), ..) => program.graph.framework,
        (None, _, Some(framework)) => framework,
        (None, Some(json), None) if json.contains("\"torch\"") => "torch",
        (None, _, None) if text(MODEL).is_some_and(|text| text.contains("import torch")) => "torch",
        _ => "paddle",
    };
    let hash = text(GRAPH_HASH).filter(|text| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == 64 && text.bytes().all(is_digit)
    });
    sample.upstream_hash = hash.map(str::to_owned);
    for name in [WEIGHTS, INPUTS] {
        let (file_tensors, faults) = meta::read(text(name).unwrap_or_default());
        for (line, reason) in faults {
            sample.add_problem(name, line, &reason);
        }
        sample.tensors.extend(file_tensors);
        if name == WEIGHTS {
            sample.weight_count = sample.tensors.len();
        }
    }
    sample.constraints(text(CONSTRAINTS));
    if let Some((prelude, annotations)) = text(MODEL).and_then(render::parse_frame) {
        sample.prelude = Some(prelude.to_owned());
        sample.annotations = (annotations != sample.default_annotations()).then_some(annotations);
    }
    let layout = text(MODEL).and_then(|text| paddle::find_layout(&sample.paddle_model()?, text));
    sample.layout = layout;
    if folder.is_empty() {
        let expected = [MODEL, GRAPH_HASH, WEIGHTS, INPUTS];
        let torch_only = (sample.framework == "torch").then_some(CONSTRAINTS);
        for name in expected.into_iter().chain(torch_only) {
            if !files.iter().any(|file| file_name(&file.name) == name) {
                sample.add_problem(name, 0, "no such file");
            }
        }
    }
    let mut has_layout = sample.layout.is_some();
    let is_rebuilt = files.iter().map(|file| {
        let name = file_name(&file.name);
        let restored = sample.file(name);
        let is_equal = restored.is_some_and(|restored| restored.as_bytes() == file.bytes);
        has_layout &= is_equal || name != MODEL;
        is_equal
    });
    let is_rebuilt = is_rebuilt.collect();
    sample.layout = sample.layout.filter(|_| has_layout);
    (sample, is_rebuilt)
}

impl Sample {
    fn add_problem(&mut self, name: &str, line: u64, reason: &str) {
        let name = match self.folder.as_str() {
            folder if folder.is_empty() || name.contains('/') => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        self.problems.push((name, line, reason.to_owned()));
    }

    fn metadata(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
            Ok(_) => self.metadata = Some(text.to_owned()),
            Err(error) => {
                let line = error.line() as u64;
                self.add_problem(METADATA, line, &format!("not a JSON object: {error}"));
            }
        }
    }

    fn model(&mut self, text: Option<&str>, files: &[&SampleFile]) {
        let file = files.iter().find(|file| file_name(&file.name) == MODEL);
        self.model_hash = file.map(|file| file.content_hash.clone());
        let Some(text) = text else { return };
        match program::read(text) {
            Ok(program) => {
                for &line in &program.unparsed {
                    self.add_problem(MODEL, line, "unsupported statement, stored as text");
                }
                self.program = Some(program);
            }
            Err((line, reason)) => self.add_problem(MODEL, line, &reason),
        }
    }

    fn constraints(&mut self, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return;
        };
        let Some(parsed) = Constraints::parse(text) else {
            self.add_problem(CONSTRAINTS, 0, "unsupported content, stored as text");
            return;
        };
        parsed.apply(&mut self.tensors);
        let is_equal =
            |imports: &&str| constraints::write(&parsed.symbols, &self.tensors, imports) == text;
        self.symbol_imports = SYMPY_IMPORTS.into_iter().find(is_equal);
        self.symbols = Some(parsed.symbols);
    }

    /// Returns the framework with this name.
    pub fn framework_by_name(name: &str) -> &'static str {
        if name == "torch" { "torch" } else { "paddle" }
    }

    /// Returns the imports with this spelling.
    pub fn imports_by_name(name: &str) -> Option<&'static str> {
        SYMPY_IMPORTS.into_iter().find(|imports| *imports == name)
    }

    /// Rebuilds a file from the columns; `None` for unknown files.
    pub fn file(&self, name: &str) -> Option<String> {
        let (weights, inputs) = self.tensors.split_at_checked(self.weight_count)?;
        match name {
            MODEL => self.model_text(),
            METADATA => self.metadata.clone(),
            GRAPH_HASH => self.upstream_hash.clone(),
            WEIGHTS => Some(meta::write(weights, self.framework)),
            INPUTS => Some(meta::write(inputs, self.framework)),
            CONSTRAINTS => {
                let symbols = self.symbols.as_deref()?;
                Some(constraints::write(
                    symbols,
                    &self.tensors,
                    self.symbol_imports?,
                ))
            }
            _ => None,
        }
    }

    fn model_text(&self) -> Option<String> {
        if let Some(layout) = &self.layout {
            return paddle::write(&self.paddle_model()?, layout);
        }
        let program = self.program.as_ref()?;
        let annotations = self.annotations.clone();
        render::write(&render::TorchModel {
            prelude: self.prelude.as_deref()?,
            graph: &program.graph,
            arguments: &program.arguments,
            names: &program.names,
            annotations: &annotations.unwrap_or_else(|| self.default_annotations()),
        })
    }

    fn paddle_model(&self) -> Option<paddle::PaddleModel<'_>> {
        let program = self.program.as_ref()?;
        (self.framework == "paddle").then_some(paddle::PaddleModel {
            prelude: self.prelude.as_deref()?,
            graph: &program.graph,
            arguments: &program.arguments,
            names: &program.names,
            output_types: &program.output_types,
            tensors: &self.tensors,
        })
    }

    /// Returns the default annotations of the arguments, which follow from the kinds of their tensors.
    fn default_annotations(&self) -> String {
        let code = |tensor| match tensors::tensor_kind(tensor) {
            "parameter" => 'P',
            "symint" => 'S',
            _ => 'T',
        };
        self.tensors.iter().map(code).collect()
    }

    /// Names of the arguments, if they differ from those of the tensors.
    pub fn argument_names(&self) -> Option<&[String]> {
        let arguments = &self.program.as_ref()?.arguments;
        let names = self.tensors.iter().map(|tensor| &tensor.name);
        (!arguments.iter().eq(names)).then_some(arguments)
    }
}

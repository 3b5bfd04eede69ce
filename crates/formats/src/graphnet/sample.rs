//! A sample: a directory with `graph_net.json`, the captured graph, and what is known of its
//! tensors. What its columns give back byte for byte is told from what must be kept as text.

use std::collections::BTreeMap;

use tsql_codecs::identity::ContentHasher;
use tsql_codecs::tensors::{self, Tensor};

use super::constraints::{self, Constraints};
use super::{meta, paddle, program, render};

/// The file that makes a directory a sample.
pub const METADATA: &str = "graph_net.json";
const MODEL: &str = "model.py";
const HASH: &str = "graph_hash.txt";
const WEIGHTS: &str = "weight_meta.py";
const INPUTS: &str = "input_meta.py";
const CONSTRAINTS: &str = "input_tensor_constraints.py";

/// What constraints import from sympy, by how often.
const IMPORTS: [&str; 3] = ["Symbol", "Symbol, Expr, Rel, Eq", ""];

/// A file of a sample.
#[derive(Clone, Debug)]
pub struct File {
    /// Path below the sample's directory.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
    /// XXH3-128 of the bytes, in hex.
    pub content_hash: String,
}

impl File {
    /// A file with its hash.
    pub fn new(name: String, bytes: Vec<u8>) -> Self {
        Self {
            name,
            content_hash: ContentHasher::of(&bytes),
            bytes,
        }
    }
}

/// What is known of one directory.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Below the directory of the sample; empty for the sample itself, else a variant's.
    pub folder: String,
    /// `torch` or `paddle`.
    pub framework: &'static str,
    /// The graph of `model.py`, where it could be read.
    pub program: Option<program::Program>,
    /// Text of `graph_net.json`.
    pub metadata: Option<String>,
    /// What `graph_hash.txt` says.
    pub upstream_hash: Option<String>,
    /// XXH3-128 of `model.py`, in hex.
    pub model_hash: Option<String>,
    /// What stands before the class in model.py.
    pub prelude: Option<String>,
    /// Paddle: what the graph does not say of model.py.
    pub layout: Option<Vec<u8>>,
    /// Torch: a letter for the annotation of each argument, where they are not what the tensors'
    /// kinds say.
    pub annotations: Option<String>,
    /// Those of `weight_meta.py` first.
    pub tensors: Vec<Tensor>,
    /// How many of the tensors are of `weight_meta.py`.
    pub weight_count: usize,
    /// Symbols of the constraints and their example values, as `S0=1,S1=224`.
    pub symbols: Option<String>,
    /// What the constraints import from sympy.
    pub symbol_imports: Option<&'static str>,
    /// File, line (0 for all of it) and reason.
    pub problems: Vec<(String, u64, String)>,
}

/// A sample with its variants, and which of its files must be kept as text.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The sample itself first.
    pub samples: Vec<Sample>,
    /// For each file the place of its sample, and whether columns give it back.
    pub files: Vec<(usize, bool)>,
}

/// Reads the files of a sample.
pub fn read(files: &[File]) -> Taken {
    let mut folders: BTreeMap<&str, Vec<usize>> = BTreeMap::from([("", Vec::new())]);
    for (place, file) in files.iter().enumerate() {
        let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = base(&file.name);
        let variant = [WEIGHTS, INPUTS, MODEL, CONSTRAINTS].contains(&name);
        let own = folders.contains_key(folder);
        folders
            .entry(if own || variant { folder } else { "" })
            .or_default()
            .push(place);
    }
    let mut taken = Taken {
        samples: Vec::new(),
        files: vec![(0, false); files.len()],
    };
    for (folder, places) in folders {
        let own: Vec<&File> = places
            .iter()
            .filter_map(|&place| files.get(place))
            .collect();
        let framework = taken.samples.first().map(|main| main.framework);
        let (sample, rebuilt) = one(folder, &own, framework);
        for (&place, rebuilt) in places.iter().zip(rebuilt) {
            if let Some(slot) = taken.files.get_mut(place) {
                *slot = (taken.samples.len(), rebuilt);
            }
        }
        taken.samples.push(sample);
    }
    taken
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Reads one directory; says for each of its files whether columns give it back. A variant has the
/// framework of its sample.
fn one(folder: &str, files: &[&File], framework: Option<&'static str>) -> (Sample, Vec<bool>) {
    let mut sample = Sample {
        folder: folder.to_owned(),
        ..Sample::default()
    };
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files {
        match std::str::from_utf8(&file.bytes) {
            Ok(text) => {
                texts.insert(base(&file.name), text);
            }
            Err(error) => {
                let before = file.bytes.get(..error.valid_up_to()).unwrap_or(&[]);
                let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
                sample.problem(&file.name, line, "not UTF-8");
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
    let hash = text(HASH).filter(|text| {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == 64 && text.bytes().all(digit)
    });
    sample.upstream_hash = hash.map(str::to_owned);
    for name in [WEIGHTS, INPUTS] {
        let (found, faults) = meta::read(text(name).unwrap_or_default());
        for (line, reason) in faults {
            sample.problem(name, line, &reason);
        }
        sample.tensors.extend(found);
        if name == WEIGHTS {
            sample.weight_count = sample.tensors.len();
        }
    }
    sample.constraints(text(CONSTRAINTS));
    if let Some((prelude, annotations)) = text(MODEL).and_then(render::framed) {
        sample.prelude = Some(prelude.to_owned());
        sample.annotations = (annotations != sample.usual_annotations()).then_some(annotations);
    }
    let layout = text(MODEL).and_then(|text| paddle::layout(&sample.paddle_model()?, text));
    sample.layout = layout;
    if folder.is_empty() {
        let wanted = [MODEL, HASH, WEIGHTS, INPUTS];
        let also = (sample.framework == "torch").then_some(CONSTRAINTS);
        for name in wanted.into_iter().chain(also) {
            if !files.iter().any(|file| base(&file.name) == name) {
                sample.problem(name, 0, "no such file");
            }
        }
    }
    let mut layout = sample.layout.is_some();
    let rebuilt = files.iter().map(|file| {
        let name = base(&file.name);
        let back = sample.file(name);
        let same = back.is_some_and(|back| back.as_bytes() == file.bytes);
        layout &= same || name != MODEL;
        same
    });
    let rebuilt = rebuilt.collect();
    sample.layout = sample.layout.filter(|_| layout);
    (sample, rebuilt)
}

impl Sample {
    fn problem(&mut self, name: &str, line: u64, reason: &str) {
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
                self.problem(METADATA, line, &format!("no JSON object: {error}"));
            }
        }
    }

    fn model(&mut self, text: Option<&str>, files: &[&File]) {
        let file = files.iter().find(|file| base(&file.name) == MODEL);
        self.model_hash = file.map(|file| file.content_hash.clone());
        let Some(text) = text else { return };
        match program::read(text) {
            Ok(program) => {
                for &line in &program.unparsed {
                    self.problem(
                        MODEL,
                        line,
                        "a statement that is not understood: kept as text",
                    );
                }
                self.program = Some(program);
            }
            Err((line, reason)) => self.problem(MODEL, line, &reason),
        }
    }

    fn constraints(&mut self, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return;
        };
        let Some(found) = Constraints::read(text) else {
            self.problem(CONSTRAINTS, 0, "not understood: kept as text");
            return;
        };
        found.apply(&mut self.tensors);
        let same =
            |imports: &&str| constraints::write(&found.symbols, &self.tensors, imports) == text;
        self.symbol_imports = IMPORTS.into_iter().find(same);
        self.symbols = Some(found.symbols);
    }

    /// The framework of this name.
    pub fn framework_named(name: &str) -> &'static str {
        if name == "torch" { "torch" } else { "paddle" }
    }

    /// The imports of this spelling.
    pub fn imports_named(name: &str) -> Option<&'static str> {
        IMPORTS.into_iter().find(|imports| *imports == name)
    }

    /// What the columns say that a file is; `None` for files that they do not know.
    pub fn file(&self, name: &str) -> Option<String> {
        let (weights, inputs) = self.tensors.split_at_checked(self.weight_count)?;
        match name {
            MODEL => self.model_text(),
            METADATA => self.metadata.clone(),
            HASH => self.upstream_hash.clone(),
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
        render::write(&render::Model {
            prelude: self.prelude.as_deref()?,
            graph: &program.graph,
            arguments: &program.arguments,
            names: &program.names,
            annotations: &annotations.unwrap_or_else(|| self.usual_annotations()),
        })
    }

    fn paddle_model(&self) -> Option<paddle::Model<'_>> {
        let program = self.program.as_ref()?;
        (self.framework == "paddle").then_some(paddle::Model {
            prelude: self.prelude.as_deref()?,
            graph: &program.graph,
            arguments: &program.arguments,
            names: &program.names,
            output_types: &program.output_types,
            tensors: &self.tensors,
        })
    }

    /// The annotations that arguments have as a rule, by the kinds of their tensors.
    fn usual_annotations(&self) -> String {
        let letter = |tensor| match tensors::kind(tensor) {
            "parameter" => 'P',
            "symint" => 'S',
            _ => 'T',
        };
        self.tensors.iter().map(letter).collect()
    }

    /// Names of the arguments, where they are not those of the tensors.
    pub fn argument_names(&self) -> Option<&[String]> {
        let arguments = &self.program.as_ref()?.arguments;
        let names = self.tensors.iter().map(|tensor| &tensor.name);
        (!arguments.iter().eq(names)).then_some(arguments)
    }
}

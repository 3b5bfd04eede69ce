//! Workloads of a database: the tuned programs, each a module of TVM's IR.
//!
//! ```text
//! ["11262074163714101772","TIQAAAAAAAB7CiAgInJvb3RfaW5kZXgi..."]
//! ```
//!
//! A line contains the structural hash of the module, an unsigned 64-bit integer, and the base64 of its graph
//! ([`crate::tvm_json`]). Records reference a line of this file by its index from 0, so unreadable lines count, too. A
//! line is reproduced from the hash and the JSON of the graph.

mod error;
mod function;
mod hashes;
mod module;
mod workload_format;

use base64::DecodeError;
use serde::de::IgnoredAny;
use tsql_codecs::json::{elements_unchecked, string_length};

use super::key;
use crate::{chunk, tvm_json};
pub use error::{Error, Reason};
pub use function::{Function, Parameter};
pub use hashes::begins_workload;
pub(super) use hashes::read_hashes;
use module::functions;
pub use workload_format::{NAME, Workloads};

/// Tuned program.
#[derive(Clone, Debug)]
pub struct Workload {
    /// TVM's structural hash of the module.
    pub hash: u64,
    /// JSON of the module, verbatim.
    pub json: Vec<u8>,
    /// Module as inert data.
    pub module: tvm_json::TvmGraph,
    /// Functions, in the order of the module.
    pub functions: Vec<Function>,
}

impl Workload {
    /// Returns the key of its graph, which equals the key of its records; `None` if the arguments are unknown.
    pub fn key(&self) -> Option<String> {
        Some(key::key_of_hash(&self.hash.to_string(), &self.arguments()?))
    }

    /// Returns types and shapes of its arguments in the format of records: `[["TENSOR", "float32", [1, 128]]]`. `None`
    /// if the module does not have exactly one function, or if the type of an argument is unknown.
    pub fn arguments(&self) -> Option<String> {
        let [function] = self.functions.as_slice() else {
            return None;
        };
        let types = function.parameters.iter().map(|parameter| {
            let (dtype, shape) = (parameter.dtype.as_ref()?, parameter.shape.as_ref()?);
            Some(format!("[\"TENSOR\", \"{dtype}\", {shape:?}]"))
        });
        let types: Vec<_> = types.collect::<Option<_>>()?;
        Some(format!("[{}]", types.join(", ")))
    }
}

/// Line of the file.
#[derive(Debug)]
pub struct WorkloadEntry<'a> {
    /// Index in the chunk, from 0. If the chunk is the entire file, records reference this index.
    pub index: u64,
    /// Line without its line feed.
    pub text: &'a [u8],
    /// Parsed workload.
    pub workload: Result<Workload, Error>,
    /// Whether hash and JSON reproduce the line ([`write()`]); otherwise callers must store its text.
    pub is_rebuilt: bool,
}

/// Reads complete lines. The last line may lack its line feed; set `crlf` if lines end in `\r\n`. An unreadable line does
/// not affect the others.
pub fn read_lines(chunk: &[u8], crlf: bool) -> impl Iterator<Item = WorkloadEntry<'_>> {
    let mut rebuilt = Vec::new();
    chunk::split_lines(chunk)
        .zip(0..)
        .map(move |(text, index)| {
            let workload = read_line(text).map_err(|(offset, reason)| Error {
                line: index + 1,
                at: offset + 1,
                reason,
            });
            rebuilt.clear();
            if let Ok(workload) = &workload {
                write(workload.hash, &workload.json, &mut rebuilt);
                if crlf {
                    rebuilt.push(b'\r');
                }
            }
            WorkloadEntry {
                index,
                text,
                is_rebuilt: workload.is_ok() && rebuilt == text,
                workload,
            }
        })
}

/// Appends a line without its line ending.
pub fn write(hash: u64, json: &[u8], out: &mut Vec<u8>) {
    let line = format!("[\"{hash}\",\"{}\"]", tvm_json::encode(json));
    out.extend_from_slice(line.as_bytes());
}

/// Parses a line; the error comes with its byte offset.
fn read_line(line: &[u8]) -> Result<Workload, (usize, Reason)> {
    let text = std::str::from_utf8(line).map_err(|error| (error.valid_up_to(), Reason::Utf8))?;
    let json_error = |error: serde_json::Error| {
        let position = error.column().saturating_sub(1);
        (position, Reason::Json(error))
    };
    serde_json::from_str::<IgnoredAny>(text).map_err(json_error)?;
    let parts = elements_unchecked(text).unwrap_or_default();
    let &[hash, encoded] = parts.as_slice() else {
        return Err((0, Reason::NoPair));
    };
    let hash_value =
        string_content(hash).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let hash_value = hash_value.and_then(|digits| digits.parse().ok());
    let hash_value = hash_value.ok_or((offset(text, hash), Reason::Hash))?;
    let module_offset = offset(text, encoded);
    let encoded = string_content(encoded).ok_or((module_offset, Reason::NoText))?;
    let module_error = |error: tvm_json::Error| {
        let offset_in_module = match &error {
            tvm_json::Error::Base64(DecodeError::InvalidByte(position, _)) => *position,
            tvm_json::Error::Base64(DecodeError::InvalidLastSymbol { offset, .. }) => *offset,
            _ => 0,
        };
        (module_offset + 1 + offset_in_module, Reason::Module(error))
    };
    let json = tvm_json::decode(encoded).map_err(module_error)?;
    let module = tvm_json::TvmGraph::read(&json).map_err(module_error)?;
    let functions = functions(&module).map_err(module_error)?;
    Ok(Workload {
        hash: hash_value,
        json,
        module,
        functions,
    })
}

/// Returns the text between the quotes of a string. Digits and base64 need no escapes, so strings with escapes are
/// rejected.
fn string_content(string: &str) -> Option<&str> {
    let inner = string.strip_prefix('"')?.strip_suffix('"')?;
    let is_complete = string_length(string.as_bytes()) == Some(string.len());
    is_complete.then_some(inner)
}

/// Returns the byte offset of `part` in `text`.
fn offset(text: &str, part: &str) -> usize {
    let (text, part) = (text.as_ptr().addr(), part.as_ptr().addr());
    part.saturating_sub(text)
}

#[cfg(test)]
mod tests;

//! Workloads of a database: the programs that were tuned, each a module of TVM's IR.
//!
//! ```text
//! ["11262074163714101772","TIQAAAAAAAB7CiAgInJvb3RfaW5kZXgi..."]
//! ```
//!
//! That is the structural hash of the module, which goes up to 2^64, and base64 of its graph ([`crate::tvm_json`]).
//! Records refer to a line of this file by its place from 0, so lines that cannot be read count, too.
//! A line comes back from the hash and the JSON of the graph.

mod error;
mod function;
mod hashes;
mod module;
mod told;

use base64::DecodeError;
use serde::de::IgnoredAny;
use tsql_codecs::json::{elements_of_valid, string_length};

use super::key;
use crate::{chunk, tvm_json};
pub use error::{Error, Reason};
pub use function::{Function, Parameter};
pub use hashes::begins;
pub(super) use hashes::hashes;
use module::functions;
pub use told::{NAME, Workloads};

/// A program that was tuned.
#[derive(Clone, Debug)]
pub struct Workload {
    /// TVM's structural hash of the module.
    pub hash: u64,
    /// The module as JSON, as it stands in the line.
    pub json: Vec<u8>,
    /// The module: inert.
    pub module: tvm_json::Graph,
    /// Its functions, in the order of the module.
    pub functions: Vec<Function>,
}

impl Workload {
    /// The key of its graph, as that of a record of it; `None` where its arguments are not known.
    pub fn key(&self) -> Option<String> {
        Some(key::of_hash(&self.hash.to_string(), &self.arguments()?))
    }

    /// Types and shapes of its arguments, spelled as records do: `[["TENSOR", "float32", [1, 128]]]`. `None` for a
    /// module of other than one function, and where the type of an argument is not known.
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

/// A line of the file.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its place in the chunk, from 0: in a chunk that is the file, what records call its index.
    pub index: u64,
    /// The line without its line feed.
    pub text: &'a [u8],
    /// What stands on it.
    pub workload: Result<Workload, Error>,
    /// Hash and JSON give the line back ([`write()`]); where they do not, whoever needs the line keeps its text.
    pub is_rebuilt: bool,
}

/// Reads whole lines, the last of which may lack its line feed; `crlf` where they end in `\r\n`. A line that cannot
/// be read leaves the others as they are.
pub fn lines(chunk: &[u8], crlf: bool) -> impl Iterator<Item = Line<'_>> {
    let mut rebuilt = Vec::new();
    chunk::lines(chunk).zip(0..).map(move |(text, index)| {
        let workload = read(text).map_err(|(at, reason)| Error {
            line: index + 1,
            at: at + 1,
            reason,
        });
        rebuilt.clear();
        if let Ok(workload) = &workload {
            write(workload.hash, &workload.json, &mut rebuilt);
            if crlf {
                rebuilt.push(b'\r');
            }
        }
        Line {
            index,
            text,
            is_rebuilt: workload.is_ok() && rebuilt == text,
            workload,
        }
    })
}

/// Appends a line without its ending.
pub fn write(hash: u64, json: &[u8], out: &mut Vec<u8>) {
    let line = format!("[\"{hash}\",\"{}\"]", tvm_json::encode(json));
    out.extend_from_slice(line.as_bytes());
}

/// What stands on a line, or where in it what is wrong.
fn read(line: &[u8]) -> Result<Workload, (usize, Reason)> {
    let text = std::str::from_utf8(line).map_err(|error| (error.valid_up_to(), Reason::Utf8))?;
    let wrong_json = |error: serde_json::Error| {
        let at = error.column().saturating_sub(1);
        (at, Reason::Json(error))
    };
    serde_json::from_str::<IgnoredAny>(text).map_err(wrong_json)?;
    let parts = elements_of_valid(text).unwrap_or_default();
    let &[hash, encoded] = parts.as_slice() else {
        return Err((0, Reason::NoPair));
    };
    let number = inner(hash).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|digits| digits.parse().ok());
    let number = number.ok_or((offset(text, hash), Reason::Hash))?;
    let encoded_at = offset(text, encoded);
    let encoded = inner(encoded).ok_or((encoded_at, Reason::NoText))?;
    let wrong_module = |error: tvm_json::Error| {
        let within = match &error {
            tvm_json::Error::Base64(DecodeError::InvalidByte(at, _)) => *at,
            tvm_json::Error::Base64(DecodeError::InvalidLastSymbol { offset, .. }) => *offset,
            _ => 0,
        };
        (encoded_at + 1 + within, Reason::Module(error))
    };
    let json = tvm_json::decode(encoded).map_err(wrong_module)?;
    let module = tvm_json::Graph::read(&json).map_err(wrong_module)?;
    let functions = functions(&module).map_err(wrong_module)?;
    Ok(Workload {
        hash: number,
        json,
        module,
        functions,
    })
}

/// What stands between the quotes of a string. Neither digits nor base64 need escapes, and none is read.
fn inner(string: &str) -> Option<&str> {
    let inner = string.strip_prefix('"')?.strip_suffix('"')?;
    let is_all = string_length(string.as_bytes()) == Some(string.len());
    is_all.then_some(inner)
}

/// Where a part of a text stands in it.
fn offset(text: &str, part: &str) -> usize {
    let (text, part) = (text.as_ptr().addr(), part.as_ptr().addr());
    part.saturating_sub(text)
}

#[cfg(test)]
mod tests;

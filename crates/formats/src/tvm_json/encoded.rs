//! Graphs embedded in other files: base64 of a length and JSON, as in MetaSchedule databases.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::Error;

/// Limit of the size of a graph in bytes, more than any graph has.
const MAX_BYTES: u64 = 1 << 40;

/// Decodes base64 of a length (eight bytes, little-endian) and JSON; returns the JSON.
///
/// # Errors
/// Returns an error for invalid base64 or a wrong length.
pub fn decode(encoded: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = STANDARD.decode(encoded)?;
    let Some((length, json)) = bytes.split_first_chunk() else {
        return Err(Error::wrong("the length of the graph is missing"));
    };
    let (length, actual_bytes) = (u64::from_le_bytes(*length), json.len());
    if u64::try_from(actual_bytes) != Ok(length) {
        return Err(Error::wrong(format!(
            "the graph has {actual_bytes} bytes, expected {length}"
        )));
    }
    bytes.drain(..size_of::<u64>());
    Ok(bytes)
}

/// Encodes a length and JSON as base64; inverse of [`decode`].
pub fn encode(json: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(size_of::<u64>() + json.len());
    bytes.extend_from_slice(&(json.len() as u64).to_le_bytes());
    bytes.extend_from_slice(json);
    STANDARD.encode(bytes)
}

/// Whether these characters are the start of the base64 of a length and a JSON object.
pub fn begins_encoded(encoded: &[u8]) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let length = bytes.split_first_chunk();
    length.is_some_and(|(length, json)| {
        u64::from_le_bytes(*length) <= MAX_BYTES && json.first() == Some(&b'{')
    })
}

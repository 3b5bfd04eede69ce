//! Graphs within other files: base64 of a length and of JSON, as MetaSchedule's databases have them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::Error;

/// More than any graph has.
const MOST_BYTES: u64 = 1 << 40;

/// The JSON in base64 of its length (eight bytes, the lowest first) and of itself.
///
/// # Errors
/// What is no base64; a length that is not that of what follows.
pub fn decode(encoded: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = STANDARD.decode(encoded)?;
    let Some((length, json)) = bytes.split_first_chunk() else {
        return Err(Error::wrong("no length before a graph"));
    };
    let (length, there) = (u64::from_le_bytes(*length), json.len());
    if u64::try_from(there) != Ok(length) {
        return Err(Error::wrong(format!(
            "a graph of {length} bytes, where {there} are"
        )));
    }
    bytes.drain(..size_of::<u64>());
    Ok(bytes)
}

/// Base64 of a length and of JSON, as [`decode`] reads it.
pub fn encode(json: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(size_of::<u64>() + json.len());
    bytes.extend_from_slice(&(json.len() as u64).to_le_bytes());
    bytes.extend_from_slice(json);
    STANDARD.encode(bytes)
}

/// Do these characters begin base64 of a length and of an object?
pub fn begins(encoded: &[u8]) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let length = bytes.split_first_chunk();
    length.is_some_and(|(length, json)| {
        u64::from_le_bytes(*length) <= MOST_BYTES && json.first() == Some(&b'{')
    })
}

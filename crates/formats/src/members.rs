//! JSON objects with known keys.

use tsql_codecs::json;

/// Returns the raw values of an object, each at the index of its key in `keys`.
///
/// # Errors
/// Returns an error if it is not an object, or has an unknown or duplicate key.
pub(crate) fn member_values<'a, const N: usize>(
    text: &'a str,
    keys: &[&str; N],
) -> Result<[Option<&'a str>; N], String> {
    let members = json::members(text).ok_or_else(|| match serde_json::from_str(text) {
        Err::<serde::de::IgnoredAny, _>(error) => error.to_string(),
        Ok(_) => "not a JSON object".to_owned(),
    })?;
    let mut values = [None; N];
    for (key, value) in members {
        let name: String = serde_json::from_str(key).map_err(|error| error.to_string())?;
        let index = keys.iter().position(|candidate| **candidate == name);
        let slot = index.and_then(|index| values.get_mut(index));
        let slot =
            slot.ok_or_else(|| format!("unknown key `{name}`, expected {}", keys.join(", ")))?;
        if slot.replace(value).is_some() {
            return Err(format!("duplicate key `{name}`"));
        }
    }
    Ok(values)
}

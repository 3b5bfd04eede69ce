//! Access to TVM nodes in the spellings of both versions.

use crate::tvm_json::{Error, NodeRef};

/// Namespaces of type names: `tir.Add` became `prim.Add` later, `tir.Block` became `s_tir.SBlock`.
const NAMESPACES: [&str; 5] = ["tir", "tirx", "prim", "ir", "s_tir"];

/// Supported data types by name. Early TVM wrote `uint1` for `bool`.
const DTYPES: [(&str, &str); 14] = [
    ("float32", "float32"),
    ("float16", "float16"),
    ("float64", "float64"),
    ("bfloat16", "bfloat16"),
    ("int8", "int8"),
    ("int16", "int16"),
    ("int32", "int32"),
    ("int64", "int64"),
    ("uint8", "uint8"),
    ("uint16", "uint16"),
    ("uint32", "uint32"),
    ("uint64", "uint64"),
    ("bool", "bool"),
    ("uint1", "bool"),
];

/// Kind of iteration variables over independent elements.
pub(super) const DATA_PARALLEL: i64 = 0;

/// Kind of iteration variables that are reduced.
pub(super) const REDUCED: i64 = 2;

/// Returns the type name of a node without its namespace: `Add`.
pub(super) fn kind(at: NodeRef<'_>) -> &str {
    match at.type_key().split_once('.') {
        Some((space, name)) if NAMESPACES.contains(&space) => name,
        _ => at.type_key(),
    }
}

/// Returns the data type of a node, which is stored as text or as the index of a type node.
///
/// # Errors
/// Returns an error for unsupported data types.
pub(super) fn dtype(at: NodeRef<'_>) -> Result<&'static str, Error> {
    let mut typed = at;
    if !at.node.attributes.contains_key("dtype") {
        typed = typed.follow_required("ty")?;
    }
    if typed.attribute("dtype")?.is_number() {
        typed = typed.follow_required("dtype")?;
    }
    let word = typed.text_attribute("dtype")?;
    let known = DTYPES.iter().find(|(name, _)| *name == word);
    let known = known.map(|(_, dtype)| *dtype);
    known.ok_or_else(|| Error::wrong(format!("unsupported data type {word:?}")))
}

/// Returns the value of an integer constant. Since 0.27 constants have no data type and their value is a separate node.
///
/// # Errors
/// Returns an error if the node is not an integer constant.
pub(super) fn integer_value(at: NodeRef<'_>) -> Result<i64, Error> {
    let is_constant = kind(at) == "IntImm";
    let is_written = at.type_key() == "IntImm" || at.node.attributes.contains_key("dtype");
    if is_constant && is_written {
        return at.integer_attribute("value");
    }
    if is_constant {
        let value = at.follow_required("value")?.node.value.as_ref();
        let value = value.and_then(|value| value.as_i64().or(value.as_bool().map(i64::from)));
        if let Some(value) = value {
            return Ok(value);
        }
    }
    Err(unexpected_node(at, "an integer constant"))
}

/// Returns the value of a floating-point constant.
///
/// # Errors
/// Returns an error if the node is not a constant.
pub(super) fn float_value(at: NodeRef<'_>) -> Result<f64, Error> {
    let value = at.attribute("value")?;
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or(value.as_f64())
        .ok_or_else(|| unexpected_node(at, "a constant"))
}

/// Returns the extent of a range, which must begin at 0 and must not be empty.
///
/// # Errors
/// Returns an error for other ranges.
pub(super) fn range_extent(minimum: NodeRef<'_>, extent: NodeRef<'_>) -> Result<i64, Error> {
    let (minimum, extent) = (integer_value(minimum)?, integer_value(extent)?);
    if minimum == 0 && extent > 0 {
        Ok(extent)
    } else {
        Err(Error::wrong(format!(
            "a range from {minimum} of {extent} elements"
        )))
    }
}

/// Returns the extent of an iteration variable.
///
/// # Errors
/// Returns an error if the range does not begin at 0 or is not constant.
pub(super) fn axis_extent(axis: NodeRef<'_>) -> Result<i64, Error> {
    let range = axis.follow_required("dom")?;
    range_extent(
        range.follow_required("min")?,
        range.follow_required("extent")?,
    )
}

/// Returns the node of an attribute, or `None` if it is absent or null. TVM versions have different attributes.
///
/// # Errors
/// Returns an error if the node index is invalid.
pub(super) fn optional_attribute<'a>(
    at: NodeRef<'a>,
    name: &str,
) -> Result<Option<NodeRef<'a>>, Error> {
    if at.node.attributes.contains_key(name) {
        at.follow(name)
    } else {
        Ok(None)
    }
}

/// Checks that attributes are absent, null or empty arrays.
///
/// # Errors
/// Returns an error if one of them has content.
pub(super) fn require_empty(at: NodeRef<'_>, names: &[&str]) -> Result<(), Error> {
    for name in names {
        if let Some(found) = optional_attribute(at, name)? {
            let is_empty = found.is_array() && found.elements().len() == 0;
            if !is_empty {
                return Err(Error::wrong(format!("{} with {name}", kind(at))));
            }
        }
    }
    Ok(())
}

/// Returns the error for a node that is not a `wanted`.
pub(super) fn unexpected_node(at: NodeRef<'_>, wanted: &str) -> Error {
    let (index, type_key) = (at.index, at.type_key());
    Error::wrong(format!("node {index} ({type_key}) is not {wanted}"))
}

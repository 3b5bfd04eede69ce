//! Access to TVM nodes in the formats of both versions.

use crate::tvm_json::{Error, NodeRef};

/// Namespaces of type names. Later versions renamed `tir.Add` to `prim.Add`, and `tir.Block` to `s_tir.SBlock`.
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
pub(super) fn kind(node: NodeRef<'_>) -> &str {
    match node.type_key().split_once('.') {
        Some((space, name)) if NAMESPACES.contains(&space) => name,
        _ => node.type_key(),
    }
}

/// Returns the data type of a node, which is stored as text or as the index of a type node.
///
/// # Errors
/// Returns an error for unsupported data types.
pub(super) fn dtype(node: NodeRef<'_>) -> Result<&'static str, Error> {
    let mut type_node = node;
    if !node.node.attributes.contains_key("dtype") {
        type_node = type_node.follow_required("ty")?;
    }
    if type_node.attribute("dtype")?.is_number() {
        type_node = type_node.follow_required("dtype")?;
    }
    let dtype_name = type_node.text_attribute("dtype")?;
    let supported = DTYPES.iter().find(|(name, _)| *name == dtype_name);
    let supported = supported.map(|(_, dtype)| *dtype);
    supported.ok_or_else(|| Error::wrong(format!("unsupported data type {dtype_name:?}")))
}

/// Returns the value of an integer constant. Since 0.27 constants have no data type and their value is a separate node.
///
/// # Errors
/// Returns an error if the node is not an integer constant.
pub(super) fn integer_value(node: NodeRef<'_>) -> Result<i64, Error> {
    let is_constant = kind(node) == "IntImm";
    let has_own_value = node.type_key() == "IntImm" || node.node.attributes.contains_key("dtype");
    if is_constant && has_own_value {
        return node.integer_attribute("value");
    }
    if is_constant {
        let value = node.follow_required("value")?.node.value.as_ref();
        let value = value.and_then(|value| value.as_i64().or(value.as_bool().map(i64::from)));
        if let Some(value) = value {
            return Ok(value);
        }
    }
    Err(unexpected_node(node, "an integer constant"))
}

/// Returns the value of a floating-point constant.
///
/// # Errors
/// Returns an error if the node is not a constant.
pub(super) fn float_value(node: NodeRef<'_>) -> Result<f64, Error> {
    let value = node.attribute("value")?;
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or(value.as_f64())
        .ok_or_else(|| unexpected_node(node, "a constant"))
}

/// Returns the extent of a range, which must start at 0 and must not be empty.
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
/// Returns an error if the range does not start at 0 or is not constant.
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
    node: NodeRef<'a>,
    name: &str,
) -> Result<Option<NodeRef<'a>>, Error> {
    if node.node.attributes.contains_key(name) {
        node.follow(name)
    } else {
        Ok(None)
    }
}

/// Checks that attributes are absent, null or empty arrays.
///
/// # Errors
/// Returns an error if one of them has content.
pub(super) fn require_empty(node: NodeRef<'_>, names: &[&str]) -> Result<(), Error> {
    for name in names {
        if let Some(attribute) = optional_attribute(node, name)? {
            let is_empty = attribute.is_array() && attribute.elements().len() == 0;
            if !is_empty {
                return Err(Error::wrong(format!("{} with {name}", kind(node))));
            }
        }
    }
    Ok(())
}

/// Returns the error for a node that is not `expected`.
pub(super) fn unexpected_node(node: NodeRef<'_>, expected: &str) -> Error {
    let (index, type_key) = (node.index, node.type_key());
    Error::wrong(format!("node {index} ({type_key}) is not {expected}"))
}

//! What nodes of TVM say, in the spelling of either version.

use crate::tvm_json::{At, Error};

/// Where the names of types may come from: `tir.Add` was `prim.Add` later, `tir.Block` `s_tir.SBlock`.
const NAMESPACES: [&str; 5] = ["tir", "tirx", "prim", "ir", "s_tir"];

/// Types of numbers that are understood, by what they are called: TVM said `uint1` for `bool` once.
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

/// The kind of iteration variables over elements that do not depend on each other.
pub(super) const DATA_PARALLEL: i64 = 0;

/// The kind of iteration variables over what is combined in any order.
pub(super) const REDUCED: i64 = 2;

/// The name of a node's type without where it comes from: `Add`.
pub(super) fn kind(at: At<'_>) -> &str {
    match at.type_key().split_once('.') {
        Some((space, name)) if NAMESPACES.contains(&space) => name,
        _ => at.type_key(),
    }
}

/// The type of a node's numbers: a text, or the place of the type that it is of.
///
/// # Errors
/// A type that is not understood.
pub(super) fn dtype(at: At<'_>) -> Result<&'static str, Error> {
    let mut typed = at;
    if !at.node.attributes.contains_key("dtype") {
        typed = typed.follow_to("ty")?;
    }
    if typed.attribute("dtype")?.is_number() {
        typed = typed.follow_to("dtype")?;
    }
    let word = typed.word("dtype")?;
    let known = DTYPES.iter().find(|(name, _)| *name == word);
    let known = known.map(|(_, dtype)| *dtype);
    known.ok_or_else(|| Error::wrong(format!("numbers of the type {word:?}")))
}

/// The value of a constant that is whole: written in it, or since 0.27, where constants state no data type, at a place of
/// its own.
///
/// # Errors
/// It is none.
pub(super) fn whole(at: At<'_>) -> Result<i64, Error> {
    let is_constant = kind(at) == "IntImm";
    let is_written = at.type_key() == "IntImm" || at.node.attributes.contains_key("dtype");
    if is_constant && is_written {
        return at.whole("value");
    }
    if is_constant {
        let value = at.follow_to("value")?.node.value.as_ref();
        let value = value.and_then(|value| value.as_i64().or(value.as_bool().map(i64::from)));
        if let Some(value) = value {
            return Ok(value);
        }
    }
    Err(not_a(at, "constant that is whole"))
}

/// The value of a constant that is no whole number.
///
/// # Errors
/// It is none.
pub(super) fn real(at: At<'_>) -> Result<f64, Error> {
    let value = at.attribute("value")?;
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or(value.as_f64()).ok_or_else(|| not_a(at, "constant"))
}

/// How far a range goes, which has to begin at 0 and to have an element.
///
/// # Errors
/// It does not.
pub(super) fn extent(minimum: At<'_>, extent: At<'_>) -> Result<i64, Error> {
    let (minimum, extent) = (whole(minimum)?, whole(extent)?);
    if minimum == 0 && extent > 0 {
        Ok(extent)
    } else {
        Err(Error::wrong(format!(
            "a range from {minimum} of {extent} elements"
        )))
    }
}

/// The extent of an iteration variable.
///
/// # Errors
/// It is not from 0, or not constant.
pub(super) fn iterated(axis: At<'_>) -> Result<i64, Error> {
    let range = axis.follow_to("dom")?;
    extent(range.follow_to("min")?, range.follow_to("extent")?)
}

/// The node at an attribute, where it has that and it is something: versions differ in what they have.
///
/// # Errors
/// A place that is none.
pub(super) fn if_any<'a>(at: At<'a>, name: &str) -> Result<Option<At<'a>>, Error> {
    if at.node.attributes.contains_key(name) {
        at.follow(name)
    } else {
        Ok(None)
    }
}

/// Looks whether attributes, where it has them, are nothing or empty arrays.
///
/// # Errors
/// One is more.
pub(super) fn without(at: At<'_>, names: &[&str]) -> Result<(), Error> {
    for name in names {
        if let Some(found) = if_any(at, name)? {
            let is_empty = found.is_array() && found.elements().len() == 0;
            if !is_empty {
                return Err(Error::wrong(format!("{} with {name}", kind(at))));
            }
        }
    }
    Ok(())
}

/// What is said where something else was expected.
pub(super) fn not_a(at: At<'_>, wanted: &str) -> Error {
    let (index, type_key) = (at.index, at.type_key());
    Error::wrong(format!("node {index} ({type_key}) is no {wanted}"))
}

//! Expressions of TVM: what they are made of.

use crate::tvm_json::{At, Error};

/// What an expression consists of, in the order in which TVM visits it; nothing where its type is not known.
pub(super) fn operands<'a>(at: At<'a>) -> Result<Vec<At<'a>>, Error> {
    let all = |names: &[&str]| {
        let operands = names.iter().map(|name| at.follow_to(name));
        operands.collect::<Result<Vec<_>, _>>()
    };
    match at.type_key() {
        name if is_binary(name) => all(&["a", "b"]),
        "tir.Not" => all(&["a"]),
        "tir.Cast" | "tir.Broadcast" => all(&["value"]),
        "tir.Select" => all(&["condition", "true_value", "false_value"]),
        "tir.Let" => all(&["value", "body"]),
        "tir.Ramp" => all(&["base", "stride"]),
        "tir.Call" => at.list("args"),
        "tir.ProducerLoad" => at.list("indices"),
        "tir.Reduce" => {
            let mut operands = Vec::new();
            for axis in at.list("axis")? {
                let range = axis.follow_to("dom")?;
                operands.extend([range.follow_to("min")?, range.follow_to("extent")?]);
            }
            operands.extend(at.list("source")?);
            operands.extend(at.list("init")?);
            operands.extend(at.follow("condition")?);
            Ok(operands)
        }
        _ => Ok(Vec::new()),
    }
}

/// Is it a type of expressions with two operands, `a` and `b`?
pub(super) fn is_binary(type_key: &str) -> bool {
    matches!(
        type_key,
        "tir.Add"
            | "tir.Sub"
            | "tir.Mul"
            | "tir.Div"
            | "tir.Mod"
            | "tir.FloorDiv"
            | "tir.FloorMod"
            | "tir.Max"
            | "tir.Min"
            | "tir.EQ"
            | "tir.NE"
            | "tir.LT"
            | "tir.LE"
            | "tir.GT"
            | "tir.GE"
            | "tir.And"
            | "tir.Or"
    )
}

/// The whole number that an expression is, if it is one.
pub(super) fn constant(at: At<'_>) -> Result<Option<i64>, Error> {
    match at.type_key() {
        "IntImm" => at.whole("value").map(Some),
        _ => Ok(None),
    }
}

/// How far loop variables run, for each whether it is known.
pub(super) fn extents(axes: &[At<'_>]) -> Result<Vec<Option<i64>>, Error> {
    let extents = axes.iter();
    let extents = extents.map(|axis| constant(axis.follow_to("dom")?.follow_to("extent")?));
    extents.collect()
}

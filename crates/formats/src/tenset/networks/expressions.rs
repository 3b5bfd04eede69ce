//! Structure of TVM expressions.

use crate::tvm_json::{Error, NodeRef};

/// Returns the operands of an expression in the order of TVM's visitor; empty for unknown types.
pub(super) fn operands<'a>(node: NodeRef<'a>) -> Result<Vec<NodeRef<'a>>, Error> {
    let required = |names: &[&str]| {
        let operands = names.iter().map(|name| node.follow_required(name));
        operands.collect::<Result<Vec<_>, _>>()
    };
    match node.type_key() {
        name if is_binary(name) => required(&["a", "b"]),
        "tir.Not" => required(&["a"]),
        "tir.Cast" | "tir.Broadcast" => required(&["value"]),
        "tir.Select" => required(&["condition", "true_value", "false_value"]),
        "tir.Let" => required(&["value", "body"]),
        "tir.Ramp" => required(&["base", "stride"]),
        "tir.Call" => node.follow_list("args"),
        "tir.ProducerLoad" => node.follow_list("indices"),
        "tir.Reduce" => {
            let mut operands = Vec::new();
            for axis in node.follow_list("axis")? {
                let range = axis.follow_required("dom")?;
                operands.extend([
                    range.follow_required("min")?,
                    range.follow_required("extent")?,
                ]);
            }
            operands.extend(node.follow_list("source")?);
            operands.extend(node.follow_list("init")?);
            operands.extend(node.follow("condition")?);
            Ok(operands)
        }
        _ => Ok(Vec::new()),
    }
}

/// Whether expressions of this type have two operands, `a` and `b`.
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

/// Returns the value of an integer constant; `None` for other expressions.
pub(super) fn constant(node: NodeRef<'_>) -> Result<Option<i64>, Error> {
    match node.type_key() {
        "IntImm" => node.integer_attribute("value").map(Some),
        _ => Ok(None),
    }
}

/// Returns the extents of loop variables; `None` where not constant.
pub(super) fn extents(axes: &[NodeRef<'_>]) -> Result<Vec<Option<i64>>, Error> {
    let extents = axes.iter();
    let extents =
        extents.map(|axis| constant(axis.follow_required("dom")?.follow_required("extent")?));
    extents.collect()
}

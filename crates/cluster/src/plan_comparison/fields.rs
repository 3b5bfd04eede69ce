//! Compares schemas, orders and expressions.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::physical_expr::expressions::{CastExpr, DynamicFilterPhysicalExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};

/// Name of a property that differs, if any.
pub(super) type Difference = Option<&'static str>;

/// Compares names, types and nullability; other metadata of fields affects no row.
pub(super) fn same_schema(a: &Schema, b: &Schema) -> bool {
    let mut pairs = a.fields().iter().zip(b.fields());
    a.fields().len() == b.fields().len() && pairs.all(|(a, b)| same_field(a, b))
}

pub(super) fn same_field(a: &Field, b: &Field) -> bool {
    a.name() == b.name() && a.data_type() == b.data_type() && a.is_nullable() == b.is_nullable()
}

/// Returns the first property that differs.
pub(super) fn first_difference<const N: usize>(
    properties: [(&'static str, bool); N],
) -> Difference {
    let mut differ = properties.iter().filter(|(_, is_same)| !is_same);
    differ.next().map(|(name, _)| *name)
}

pub(super) fn same_order(a: &[PhysicalSortExpr], b: &[PhysicalSortExpr]) -> bool {
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| a.options == b.options && same_expr(&a.expr, &b.expr))
}

pub(super) fn same_exprs(a: &[Arc<dyn PhysicalExpr>], b: &[Arc<dyn PhysicalExpr>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expr(a, b))
}

pub(super) fn same_option(
    a: Option<&Arc<dyn PhysicalExpr>>,
    b: Option<&Arc<dyn PhysicalExpr>>,
) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_expr(a, b),
        _ => false,
    }
}

/// Compares expressions. Dynamic filters only skip rows that no operator needs, so only their columns are
/// compared. Functions use the settings of the session on both sides. The field of a cast is compared through
/// the schema of the node.
pub(super) fn same_expr(a: &Arc<dyn PhysicalExpr>, b: &Arc<dyn PhysicalExpr>) -> bool {
    let owned = |of: &Arc<dyn PhysicalExpr>| -> Vec<Arc<dyn PhysicalExpr>> {
        of.children().into_iter().map(Arc::clone).collect()
    };
    let (inner, inner_read) = (owned(a), owned(b));
    if !same_exprs(&inner, &inner_read) {
        return false;
    }
    let [dynamic, dynamic_read] =
        [a, b].map(|of| of.downcast_ref::<DynamicFilterPhysicalExpr>().is_some());
    if dynamic || dynamic_read {
        return dynamic == dynamic_read;
    }
    let [cast, cast_read] = [a, b].map(|of| of.downcast_ref::<CastExpr>());
    if let (Some(a), Some(b)) = (cast, cast_read) {
        return a.cast_type() == b.cast_type() && a.cast_options() == b.cast_options();
    }
    let [function, function_read] = [a, b].map(|of| of.downcast_ref::<ScalarFunctionExpr>());
    match (function, function_read) {
        (Some(a), Some(b)) => {
            a.fun() == b.fun()
                && a.name() == b.name()
                && a.return_type() == b.return_type()
                && a.nullable() == b.nullable()
        }
        (None, None) if inner.is_empty() => a == b,
        // The fields of the node itself are compared on top of the same inputs.
        (None, None) => {
            let read = Arc::clone(b).with_new_children(inner);
            read.is_ok_and(|read| *a == read)
        }
        _ => false,
    }
}

//! Sides of a comparison: their syntax, their SQL predicates, and their records.

pub(super) mod compared_side;
pub(super) mod condition;
pub(super) mod resolve_side;
pub(super) mod side;

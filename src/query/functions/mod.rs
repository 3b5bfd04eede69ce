//! SQL functions of tsql, one file each. Registered by name, so that a plan that uses them runs on
//! any worker that has called [`register`].
//!
//! What is said of a function (`about`) and what it does stand together: a `scalar` has values of a
//! row, an `aggregate` the rows of a group. Aggregates that measure something are metrics of
//! `tsql_metrics`; they are listed there, and made by `metric`.

mod about;
mod aggregate;
mod lists;
mod metric;
mod scalar;

pub(super) mod count_distinct_dense;
mod extreme_by;
mod fill_sketch;
mod hlo_opcode;
mod json_text;
mod lossy_text;
mod macro_speedup_score;
mod node_feature;
mod odd_repeats;
mod open_sketch;
mod packed_repeats;
mod percentile_cont;
mod scaled;
mod sketch_params;
#[cfg(test)]
mod tests;
mod time_at;
mod unpack_calls;
mod unpack_checks;
mod unpack_graph;
mod unpack_tasks;
mod unpack_tensors;
mod workload;

use datafusion::logical_expr::{AggregateUDF, Documentation, ScalarUDF};
use datafusion::prelude::SessionContext;

use self::scalar::Scalar;
use crate::error::{Error, Result};

/// Those of the values of a row.
fn scalars() -> Vec<Scalar> {
    vec![
        fill_sketch::function(),
        hlo_opcode::function(),
        json_text::field(),
        json_text::key(),
        json_text::lines(),
        lossy_text::function(),
        macro_speedup_score::function(),
        node_feature::one(),
        node_feature::all(),
        odd_repeats::flags(),
        odd_repeats::repeats(),
        open_sketch::function(),
        packed_repeats::list(),
        packed_repeats::least(),
        packed_repeats::noise(),
        scaled::function(),
        sketch_params::function(),
        time_at::function(),
        unpack_calls::uses(),
        unpack_calls::named_nodes(),
        unpack_checks::checks(),
        unpack_checks::passes_at(),
        unpack_graph::nodes(),
        unpack_graph::edges(),
        unpack_graph::steps(),
        unpack_tasks::operations(),
        unpack_tasks::uses(),
        unpack_tensors::function(),
        workload::name(),
        workload::args(),
    ]
}

/// Those of the rows of a group.
fn aggregates() -> Vec<AggregateUDF> {
    metric::all()
        .chain(extreme_by::all())
        .chain([count_distinct_dense::aggregate()])
        .map(AggregateUDF::from)
        .chain([percentile_cont::udaf()])
        .collect()
}

/// Makes them known to a session.
pub(crate) fn register(context: &SessionContext) {
    for function in scalars() {
        context.register_udf(function.into());
    }
    for aggregate in aggregates() {
        context.register_udaf(aggregate);
    }
}

/// What is said of a function, for those who write SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// How it is called: `name(one, two[, three])`.
    pub call: String,
    /// Does it take the rows of a group?
    pub is_aggregate: bool,
    /// What it gives, and where that is defined.
    pub doc: String,
    /// Its arguments: name and meaning.
    pub arguments: Vec<(String, String)>,
    /// A query that any store answers.
    pub example: String,
}

/// The functions that SQL has beside DataFusion's, by name.
#[must_use]
pub fn functions() -> Vec<Function> {
    let mut functions = Vec::new();
    for scalar in scalars().into_iter().map(ScalarUDF::from) {
        functions.extend(Function::of(scalar.name(), false, scalar.documentation()));
    }
    for aggregate in aggregates() {
        functions.extend(Function::of(
            aggregate.name(),
            true,
            aggregate.documentation(),
        ));
    }
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    functions
}

impl Function {
    fn of(name: &str, is_aggregate: bool, said: Option<&Documentation>) -> Option<Self> {
        let said = said?;
        Some(Self {
            name: name.to_owned(),
            call: said.syntax_example.clone(),
            is_aggregate,
            doc: said.description.clone(),
            arguments: said.arguments.clone().unwrap_or_default(),
            example: said.sql_example.clone().unwrap_or_default(),
        })
    }
}

/// The function of this name.
///
/// # Errors
/// [`Error::Unknown`] where there is none of ours.
pub fn function(name: &str) -> Result<Function> {
    let functions = functions();
    let found = functions.iter().find(|function| function.name == name);
    found.cloned().ok_or_else(|| Error::Unknown {
        kind: "function",
        name: name.to_owned(),
        known: functions
            .iter()
            .map(|function| function.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })
}

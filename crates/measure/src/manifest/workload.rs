//! Workloads of a manifest: the cross product of sizes within a table, concatenated over tables, without
//! duplicates.

use std::collections::{BTreeMap, BTreeSet};

use super::super::expr::Expression;
use super::super::space::Config;
use super::names::macro_error;
use super::raw_manifest::{Formula, Sizes, TypedWorkload};
use super::scope::{Scope, to_f64};

/// Maximum workloads of a manifest.
const MAX_WORKLOADS: usize = 100_000;

/// Sizes of one measurement of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Sizes by name.
    pub params: BTreeMap<String, i64>,
    /// Floating-point operations per call.
    pub flops: Option<f64>,
    /// Minimum bytes that a call must move.
    pub bytes: Option<f64>,
}

/// Formulas shared by all workloads of a table.
struct WorkFormulas {
    flops: Option<Expression>,
    bytes: Option<Expression>,
}

pub(super) fn resolve(tables: Vec<TypedWorkload>) -> Result<Vec<Workload>, String> {
    // A program without sizes is measured once.
    if tables.is_empty() {
        return Ok(vec![Workload {
            params: BTreeMap::new(),
            flops: None,
            bytes: None,
        }]);
    }
    let mut seen = BTreeSet::new();
    let mut workloads: Vec<Workload> = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let resolved =
            resolve_table(table).map_err(|reason| format!("workload {}: {reason}", index + 1))?;
        for workload in resolved {
            let names_fit = |first: &Workload| first.params.keys().eq(workload.params.keys());
            if !workloads.first().is_none_or(names_fit) {
                let reason = "its params differ from the params of the first";
                return Err(format!("workload {}: {reason}", index + 1));
            }
            if seen.insert(workload.params.clone()) {
                workloads.push(workload);
            }
        }
        if workloads.len() > MAX_WORKLOADS {
            return Err(format!("workload: more than {MAX_WORKLOADS} of them"));
        }
    }
    Ok(workloads)
}

fn resolve_table(table: TypedWorkload) -> Result<Vec<Workload>, String> {
    let amounts = WorkFormulas {
        flops: table.flops.map(Formula::parse).transpose()?,
        bytes: table.bytes.map(Formula::parse).transpose()?,
    };
    cross_product(table.params)?
        .into_iter()
        .map(|params| {
            Ok(Workload {
                flops: evaluate_amount("flops", amounts.flops.as_ref(), &params)?,
                bytes: evaluate_amount("bytes", amounts.bytes.as_ref(), &params)?,
                params,
            })
        })
        .collect()
}

fn evaluate_amount(
    key: &str,
    formula: Option<&Expression>,
    params: &BTreeMap<String, i64>,
) -> Result<Option<f64>, String> {
    let scope = Scope {
        params,
        config: &Config::new(),
    };
    let Some(formula) = formula else {
        return Ok(None);
    };
    match scope.evaluate(formula) {
        Ok(value) if value >= 0 => Ok(Some(to_f64(value))),
        Ok(value) => Err(format!("{key}: `{formula}` is {value}, expected 0 or more")),
        Err(reason) => Err(format!("{key}: {reason}")),
    }
}

fn cross_product(params: BTreeMap<String, Sizes>) -> Result<Vec<BTreeMap<String, i64>>, String> {
    let mut combinations = vec![BTreeMap::new()];
    for (name, sizes) in params {
        if let Some(fault) = macro_error(&name) {
            return Err(format!("params: {fault}"));
        }
        let sizes = match sizes {
            Sizes::One(size) => vec![size],
            Sizes::Many(sizes) => sizes,
        };
        if sizes.is_empty() {
            return Err(format!("params.{name}: no values"));
        }
        if combinations.len().saturating_mul(sizes.len()) > MAX_WORKLOADS {
            return Err(format!("params: more than {MAX_WORKLOADS} combinations"));
        }
        let mut longer = Vec::with_capacity(combinations.len() * sizes.len());
        for params in &combinations {
            for size in &sizes {
                let mut params = params.clone();
                params.insert(name.clone(), *size);
                longer.push(params);
            }
        }
        combinations = longer;
    }
    Ok(combinations)
}

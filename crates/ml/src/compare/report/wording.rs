//! Words that reports share.

use tsql_verdicts::verdict::Reason;

use crate::compare::comparison::{Change, Comparison};

/// Fraction as a percentage with a sign: `+3.1 %`.
pub(super) fn signed_percent(fraction: f64) -> String {
    format!("{:+.1} %", 100.0 * fraction)
}

/// Fraction as a percentage: `3.1 %`.
pub(super) fn percent(fraction: f64) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

/// Duration with three significant digits and a unit.
pub(super) fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Name of a pair: its workload and its configuration.
pub(super) fn pair_name(change: &Change) -> String {
    match &change.steps {
        Some(steps) => format!("{} {steps}", change.workload_key),
        None => change.workload_key.clone(),
    }
}

/// Change with its interval: `+3.1 % (+1.0 % to +5.2 %)`.
pub(super) fn change_with_interval(change: &Change) -> String {
    let size = change.change.map_or_else(String::new, signed_percent);
    match change.low.zip(change.high) {
        Some((low, high)) => format!(
            "{size} ({} to {})",
            signed_percent(low),
            signed_percent(high)
        ),
        None => size,
    }
}

/// Meaning of a reason, and the way to a verdict.
pub(super) fn advice(reason: Reason) -> &'static str {
    match reason {
        Reason::NoFloor => {
            "one run on a side, and no noise floor of the platform: measure unchanged programs twice on one day, or each \
             side three times"
        }
        Reason::FewRuns => "too few runs: measure both sides again",
        Reason::OtherDay => {
            "the sides ran on other days, and the noise between days is unknown: measure both sides on one day, or \
             unchanged programs on two days"
        }
        Reason::Spoiled => "the runs were disturbed: measure again on a quiet machine",
        Reason::AnchorMoved => {
            "the control program changed, so the machine did: measure both sides again"
        }
        Reason::BelowDetectable => {
            "the change, if any, is below what these runs can show: measure more runs of both sides"
        }
    }
}

/// The outcome in one sentence.
pub(super) fn outcome(found: &Comparison) -> String {
    let pairs = found.all.pairs;
    if pairs + found.newly_failing + found.newly_working + found.failing == 0 {
        return "Nothing was compared.".to_owned();
    }
    let Some(regression) = &found.regression else {
        return format!(
            "{} slower, {} faster, {} the same, {} unclear of {pairs} pairs.",
            found.all.slower, found.all.faster, found.all.same, found.all.unclear
        );
    };
    let allowed = percent(regression.allowed);
    let mut reasons = Vec::new();
    if regression.slower > 0 {
        reasons.push(format!(
            "{} of {pairs} pairs slower by more than {allowed}",
            regression.slower
        ));
    }
    if regression.is_slower_overall {
        reasons.push(format!("all pairs together slower by more than {allowed}"));
    }
    if regression.newly_failing > 0 {
        reasons.push(format!("{} newly failing", regression.newly_failing));
    }
    if !reasons.is_empty() {
        return format!("**Regression**: {}.", reasons.join(", "));
    }
    if pairs == 0 {
        return "**Nothing was compared**: no pair works on both sides.".to_owned();
    }
    if found.undecided > 0 {
        return format!(
            "**No regression found**, but {} of {pairs} pairs cannot show a change of {allowed}.",
            found.undecided
        );
    }
    format!("**No regression**: no pair of {pairs} is slower by more than {allowed}.")
}

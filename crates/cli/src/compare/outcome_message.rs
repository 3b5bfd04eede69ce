//! Outcome of a comparison as messages.

use tsql_ml::compare::{Comparison, Rule};

use crate::stderr::{count_noun, print_message};

/// Prints the outcome.
pub(super) fn print_outcome(found: &Comparison) {
    let (a, b, all) = (&found.a.name, &found.b.name, &found.all);
    if let Some(speedup) = all.speedup {
        let interval = all.speedup_low.zip(all.speedup_high);
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({low:.3} to {high:.3} with 95 %)")
        });
        print_message(&format!(
            "{b} is {speedup:.3} times as fast as {a}{interval}, {}: {} faster, {} slower, {} the same, {} unclear",
            count_noun(all.pairs, "pair"),
            all.faster,
            all.slower,
            all.same,
            all.unclear
        ));
    }
    print_reasons(found);
    print_shifts(found);
    print_regression(found);
}

/// Prints why pairs are unclear.
fn print_reasons(found: &Comparison) {
    let all = &found.all;
    if found.rule == Rule::Ranks {
        if all.unclear > 0 && all.unclear == all.pairs {
            print_message(
                "hint: there are too few repeats to decide about single pairs; use the mean of all pairs",
            );
        }
        return;
    }
    if !found.unclear_reasons.is_empty() {
        let reasons = found.unclear_reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, pairs)| format!("{pairs} {}", reason.word()))
            .collect();
        print_message(&format!("unclear: {}", reasons.join(", ")));
    }
    if found.floors.is_empty() && all.unclear > 0 {
        print_message(
            "hint: the noise between runs is unknown; measure unchanged programs twice on one day (20 pairs on a \
             platform), or each side three times",
        );
    } else if let Some(needed) = found
        .unclear
        .iter()
        .filter_map(|pair| pair.runs_needed)
        .max()
    {
        print_message(&format!(
            "hint: the unclear pairs with the largest changes need up to {needed} runs on each side"
        ));
    }
}

/// Prints what all programs share.
fn print_shifts(found: &Comparison) {
    for anchor in &found.anchors {
        let change = anchor.change.unwrap_or_default() * 100.0;
        print_message(&format!(
            "control program {}: {} ({change:+.1} %)",
            anchor.workload_key, anchor.verdict
        ));
    }
    for shift in found.shifts.iter().filter(|shift| shift.has_moved) {
        let platform = shift.platform.as_deref().unwrap_or("the platform");
        print_message(&format!(
            "warning: on {platform} {:.0} % of {} pairs moved one way (median {:+.1} %): the machine may have changed\n\
             hint: --anchor PROGRAM makes a control program decide",
            shift.moved * 100.0,
            shift.pairs,
            shift.median * 100.0
        ));
    }
}

fn print_regression(found: &Comparison) {
    let Some(regression) = found.regression else {
        return;
    };
    let allowed = regression.allowed * 100.0;
    if found.rule == Rule::Runs && found.undecided > 0 {
        print_message(&format!(
            "undecided: {} cannot show a change of {allowed} %",
            count_noun(found.undecided, "pair")
        ));
    }
    if !regression.is_exceeded() {
        return;
    }
    let mut reasons = Vec::new();
    if regression.slower > 0 {
        reasons.push(format!(
            "{} slower by more than {allowed} %",
            count_noun(regression.slower, "pair")
        ));
    }
    if regression.is_slower_overall {
        reasons.push(format!("geometric mean slower by more than {allowed} %"));
    }
    if regression.newly_failing > 0 {
        reasons.push(format!(
            "{} newly failing",
            count_noun(regression.newly_failing, "pair")
        ));
    }
    print_message(&format!("regression: {}", reasons.join(", ")));
}

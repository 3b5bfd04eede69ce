//! Criterion: the samples of a benchmark. Its names and its stated mean are in files beside them.

use crate::model::{Metric, Trial};
use crate::output::Output;
use crate::quantity::TimeUnit;
use crate::value::{Fields, Number, Value, get};

use super::document::{
    BenchmarkDocument, Element, field_text, mean, number, numbers, quotients, set_repeats, set_run,
    set_statistic, set_time, stated, text,
};

/// Reads such samples.
pub(super) struct Sample;

/// Relative difference up to which a stated mean is that of the samples.
const MEAN_TOLERANCE: f64 = 1e-9;

impl BenchmarkDocument for Sample {
    fn results(&self) -> Option<(&'static str, u8)> {
        None
    }

    fn is_setting(&self, name: &str) -> bool {
        name == "sampling_mode"
    }

    fn emit(&self, fields: &Fields, _: Vec<Element>, output: &mut Output) -> Result<(), String> {
        let list = |name: &str| {
            let list = get(fields, name).and_then(Value::as_list).and_then(numbers);
            list.ok_or_else(|| format!("`{name}` is no list of numbers"))
        };
        let iterations = list("iters")?;
        let repeats = quotients(&list("times")?, &iterations)?;
        let mut trial = Trial::at(1, 0..1);
        if let Some(names) = output.options.companion("benchmark.json") {
            identify(&mut trial, &names);
        }
        set_run(
            &mut trial,
            "sampling_mode",
            field_text(fields, "sampling_mode"),
        );
        set_run(&mut trial, "baseline", output.options.folder().as_deref());
        let estimates = output.options.companion("estimates.json");
        let estimate = |name: &str| {
            let estimate = estimates.as_ref().and_then(|all| all.get(name));
            estimate
                .and_then(|one| number(one, "point_estimate"))
                .cloned()
        };
        let computed = mean(&repeats).filter(|_| !repeats.is_empty());
        let time = estimate("mean").or_else(|| computed.clone());
        set_time(
            &mut trial,
            &time.clone().ok_or("no samples")?,
            TimeUnit::Nanoseconds,
        );
        set_statistic(&mut trial, "mean");
        for count in &iterations {
            trial.push_metric(Metric::new("iterations", "", count));
        }
        if let Some(slope) = estimate("slope") {
            trial.push_metric(Metric::new("slope", "ns", &slope));
        }
        set_repeats(&mut trial, "times", TimeUnit::Nanoseconds, repeats);
        output.trial(trial);
        if let (Some(time), Some(computed)) = (time, computed)
            && !is_near(&time, &computed)
        {
            output.warn_edited(1, "the mean of estimates.json is not that of the samples");
        }
        Ok(())
    }
}

/// Returns whether two means are equal up to rounding.
pub(super) fn is_near(left: &Number, right: &Number) -> bool {
    let tolerance = MEAN_TOLERANCE * right.value().abs();
    (left.value() - right.value()).abs() <= tolerance
}

/// Takes the names of `benchmark.json`.
fn identify(trial: &mut Trial, names: &Value) {
    trial.graph.kernel = text(names, "group_id").and_then(stated);
    if let Some(function) = text(names, "function_id") {
        trial
            .graph
            .problem
            .push(("function".to_owned(), Value::text(function)));
    }
    if let Some(value) = text(names, "value_str") {
        trial
            .configuration
            .push(("value".to_owned(), Value::text(value)));
    }
    if let Some(throughput @ Value::Object(_)) = names.get("throughput") {
        trial
            .attributes
            .push(("throughput".to_owned(), throughput.clone()));
    }
}

//! Knobs of a manifest: expands lists, powers of two and ranges to lists of values.

use super::super::expr::Expression;
use super::super::space::{Knob, Space};
use super::names::macro_error;
use super::raw_manifest::{Choices, TypedSpace};

/// Maximum values of a knob.
const MAX_VALUES: usize = 65_536;

pub(super) fn resolve(typed: TypedSpace) -> Result<Space, String> {
    let knobs = typed
        .knobs
        .into_iter()
        .map(|(name, choices)| {
            if let Some(fault) = macro_error(&name) {
                return Err(format!("space: {fault}"));
            }
            let values =
                expand_values(choices).map_err(|reason| format!("space.{name}: {reason}"))?;
            Ok(Knob { name, values })
        })
        .collect::<Result<Vec<_>, String>>()?;
    let constraints = typed
        .constraints
        .iter()
        .map(|text| {
            Expression::parse(text).map_err(|reason| format!("space.constraints: {reason}"))
        })
        .collect::<Result<_, String>>()?;
    Ok(Space::new(knobs, constraints))
}

fn expand_values(choices: Choices) -> Result<Vec<i64>, String> {
    let values = match choices {
        Choices::Listed(values) => values,
        Choices::Powers(powers) => powers_of_two(powers.pow2)?,
        Choices::Range(range) => expand_range(range.range)?,
    };
    if values.is_empty() {
        return Err("no values".to_owned());
    }
    if values.len() > MAX_VALUES {
        return Err(format!("more than {MAX_VALUES} values"));
    }
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let duplicate = sorted.windows(2).find(|pair| pair.first() == pair.last());
    match duplicate.and_then(|pair| pair.first()) {
        Some(value) => Err(format!("duplicate value {value}")),
        None => Ok(values),
    }
}

fn powers_of_two([low, high]: [i64; 2]) -> Result<Vec<i64>, String> {
    let is_power = |value: i64| value > 0 && value.count_ones() == 1;
    if !is_power(low) || !is_power(high) || low > high {
        return Err(format!(
            "`pow2 = [{low}, {high}]` needs two powers of two, the lower first"
        ));
    }
    let doubled = |value: &i64| value.checked_mul(2).filter(|next| *next <= high);
    Ok(std::iter::successors(Some(low), doubled).collect())
}

fn expand_range([start, end, step]: [i64; 3]) -> Result<Vec<i64>, String> {
    if step <= 0 || start > end {
        return Err(format!(
            "`range = [{start}, {end}, {step}]` needs start, end (which is in it) and a step above 0"
        ));
    }
    let next = |value: &i64| value.checked_add(step).filter(|next| *next <= end);
    // One value above the maximum is enough for the caller to reject it.
    Ok(std::iter::successors(Some(start), next)
        .take(MAX_VALUES + 1)
        .collect())
}

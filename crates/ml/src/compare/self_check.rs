//! Calibration of the rule on the records of a store: false alarms, and changes that would be found.

use std::collections::BTreeMap;

use datafusion::prelude::SessionContext;
use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_session::noise::{FloorSelection, read_repeated_records};
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::Store;
use tsql_verdicts::calibration::{InjectedChange, calibrate};
use tsql_verdicts::floor::MIN_PAIRS;
use tsql_verdicts::floor_classes::FloorClass;
use tsql_verdicts::run_test::ALPHA;

use crate::compare::options::CompareOptions;
use crate::compare::sides::compared_side::summarize_side;
use crate::compare::sides::resolve_side::{StoreNames, open_version};
use crate::compare::sides::side::Side;

/// Rates of the rule on pairs of repeated records, in which nothing changed.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SelfCheck {
    /// Version of this document.
    pub version: u32,
    /// Minimum change that is significant, as a fraction.
    pub minimum_change: f64,
    /// Classes with enough pairs, each at no change and at each injected one.
    pub classes: Vec<CheckedClass>,
    /// Number of pairs of classes with too few of them.
    pub unchecked_pairs: usize,
}

/// Rates of a class.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckedClass {
    /// Platform and duration.
    #[serde(flatten)]
    pub class: FloorClass,
    /// Number of pairs of records of one day.
    pub pairs: usize,
    /// Rates at no change, then at each injected change.
    pub rates: Vec<InjectedChange>,
}

impl CheckedClass {
    /// Returns whether the false alarms are significantly above 5 %.
    pub fn has_false_alarms(&self) -> bool {
        let unchanged = self.rates.first();
        unchanged.is_some_and(|rates| rates.called().low > ALPHA)
    }
}

impl SelfCheck {
    /// Returns whether a class has significantly more false alarms than 5 %.
    pub fn has_false_alarms(&self) -> bool {
        self.classes.iter().any(CheckedClass::has_false_alarms)
    }
}

/// Applies the rule to pairs of records of one configuration, program, platform and day. Half of the pairs of a class
/// judge the other half. `changes` are injected into the second record, as fractions above 0. `side` restricts the
/// records.
///
/// # Errors
/// [`Error::Empty`] if no class has enough pairs, the errors of names of a side, and failures of the storage.
pub async fn check_rule(
    store: &Store,
    side: Option<&Side>,
    changes: &[f64],
    options: &CompareOptions,
) -> Result<SelfCheck> {
    let session = SessionOptions::default().memory_limit_bytes(options.memory_limit_bytes);
    let context = open_session_with(store, &session).await?;
    let (context, predicate) = match side {
        Some(side) => resolve(store, &context, side, &session).await?,
        None => (context, "true".to_owned()),
    };
    let predicate = format!("({predicate}) AND ({})", options.predicate);
    let name = side.map_or_else(|| "the store".to_owned(), Side::to_string);
    let records = summarize_side(&context, &name, &predicate).await?;
    let selection = FloorSelection {
        platforms: Some(&records.platforms),
        sides: ["false", "false"],
        predicate: &predicate,
    };
    let repeated = read_repeated_records(&context, &selection).await?;
    let changes = [&[0.0], changes].concat();
    let mut found = SelfCheck {
        version: 1,
        minimum_change: options.minimum_change,
        ..SelfCheck::default()
    };
    // Durations with too few pairs are checked together, by platform.
    let mut few: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for (class, differences) in repeated.pairs.within_day() {
        let levels = |difference: &f64| [0.0, difference * std::f64::consts::SQRT_2];
        let pairs: Vec<[f64; 2]> = differences.iter().map(levels).collect();
        match calibrate(&pairs, &changes, options.minimum_change) {
            Some(rates) => found.classes.push(CheckedClass {
                class,
                pairs: pairs.len(),
                rates,
            }),
            None => few.entry(class.platform).or_default().extend(pairs),
        }
    }
    for (platform, pairs) in few {
        match calibrate(&pairs, &changes, options.minimum_change) {
            Some(rates) => found.classes.push(CheckedClass {
                class: FloorClass {
                    platform,
                    half_decade: None,
                },
                pairs: pairs.len(),
                rates,
            }),
            None => found.unchecked_pairs += pairs.len(),
        }
    }
    if found.classes.is_empty() {
        return Err(Error::Empty(format!(
            "{name} has {} pairs of repeated records of one day, expected at least {} of a platform\n\
             hint: measure the same programs again on the same day",
            found.unchecked_pairs,
            2 * MIN_PAIRS
        )));
    }
    Ok(found)
}

async fn resolve(
    store: &Store,
    context: &SessionContext,
    side: &Side,
    session: &SessionOptions,
) -> Result<(SessionContext, String)> {
    let known = StoreNames::load(store, context).await?;
    let resolved = known.resolve(side).await?;
    let context = match &resolved.tag {
        Some(tag) => open_session_with(&open_version(store, Some(tag)).await?, session).await?,
        None => context.clone(),
    };
    Ok((context, resolved.predicate))
}

//! Tolerance levels of the GraphNet paper and their keys in logs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Lowest tolerance level in logs.
pub(crate) const FIRST_TOLERANCE: i32 = -10;
/// Highest tolerance level in logs.
pub(crate) const LAST_TOLERANCE: i32 = 5;

/// Returns absolute and relative tolerance of a data type at level `t`; `None` for types that are compared exactly
/// (integers, bool and all others).
///
/// Source: `datatype_tolerance_config.py`. A module prefix, as in `torch.float32`, is ignored.
pub(crate) fn tolerance(dtype: &str, t: i32) -> Option<(f64, f64)> {
    let t = f64::from(t);
    let (absolute, relative) = match dtype.rsplit('.').next().unwrap_or(dtype) {
        "float16" => (t, t * 3.0 / 5.0),
        "bfloat16" => (t, t * 1.796 / 5.0),
        "float32" => (t, t * 5.886 / 5.0),
        "float64" => (t * 7.0 / 5.0, t * 7.0 / 5.0),
        _ => return None,
    };
    Some((10_f64.powf(absolute), 10_f64.powf(relative)))
}

/// Returns the key of the comparison that decides for a data type at level `t`, without brackets: `equal`, or
/// `all_close_atol_1.00E-05_rtol_1.30E-06`.
///
/// Source: `get_correctness` in `analysis_util.py`.
pub(crate) fn tolerance_key(dtype: &str, t: i32) -> String {
    match tolerance(dtype, t) {
        None => "equal".to_owned(),
        Some((atol, rtol)) => {
            let (atol, rtol) = (scientific(atol), scientific(rtol));
            format!("all_close_atol_{atol}_rtol_{rtol}")
        }
    }
}

/// Whether current writers print this key (without brackets) after `[Correctness]`.
///
/// Source: `check_allclose` in `test_compiler_util.py`.
pub(crate) fn is_known_key(key: &str) -> bool {
    KNOWN_KEYS.contains(key)
}

static KNOWN_KEYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let others = [
        "max_diff",
        "mean_diff",
        "max_relative_diff",
        "mean_relative_diff",
    ];
    let mut keys: BTreeSet<String> = others.into_iter().map(str::to_owned).collect();
    for dtype in ["float16", "bfloat16", "float32", "float64", "int64"] {
        keys.extend((FIRST_TOLERANCE..=LAST_TOLERANCE).map(|t| tolerance_key(dtype, t)));
    }
    keys
});

/// Parses absolute and relative tolerance from a key of the logs of 2025-08: `all_close_atol5_rtol2` means 1e-5 and
/// 1e-2.
pub(super) fn parse_tolerances(key: &str) -> Option<(f64, f64)> {
    let (absolute, relative) = key.strip_prefix("all_close_atol")?.split_once("_rtol")?;
    let power = |digits: &str| {
        digits
            .parse::<i32>()
            .ok()
            .map(|digits| 10_f64.powi(-digits))
    };
    Some((power(absolute)?, power(relative)?))
}

/// Formats like Python's `%.2E`: a signed exponent of at least two digits.
fn scientific(value: f64) -> String {
    let text = format!("{value:.2E}");
    let Some((mantissa, exponent)) = text.split_once('E') else {
        return text;
    };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}E{sign}{digits:0>2}")
}

//! Comparison and sums of doubles.

use serde_json::Value as Json;

/// Sum with one rounding, as `math.fsum` (Shewchuk 1997).
pub(crate) fn exact_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut x in values {
        let mut parts = Vec::new();
        for mut y in partials {
            if x.abs() < y.abs() {
                std::mem::swap(&mut x, &mut y);
            }
            let high = x + y;
            let low = y - (high - x);
            if low != 0.0 {
                parts.push(low);
            }
            x = high;
        }
        parts.push(x);
        partials = parts;
    }
    let mut rest = partials.into_iter().rev();
    let mut high = rest.next().unwrap_or(0.0);
    let mut low = 0.0;
    for y in rest.by_ref() {
        let x = high;
        high = x + y;
        low = y - (high - x);
        if low != 0.0 {
            break;
        }
    }
    if let Some(next) = rest.next()
        && ((low < 0.0 && next < 0.0) || (low > 0.0 && next > 0.0))
    {
        let y = low * 2.0;
        let x = high + y;
        if y == x - high {
            high = x;
        }
    }
    high
}

/// Quotes the numbers with a point or an exponent: serde_json rounds some of them to a neighbour.
pub(crate) fn quote_floats(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_string = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if is_string {
            length += usize::from(first == '\\');
            is_string = first != '"';
        } else if first == '"' {
            is_string = true;
        } else if first == '-' || first.is_ascii_digit() {
            let end = |part: char| !part.is_ascii_digit() && !"+-.eE".contains(part);
            length = rest.find(end).unwrap();
            if rest[..length].contains(['.', 'e', 'E']) {
                out.push_str(&format!("\"float:{}\"", &rest[..length]));
                rest = &rest[length..];
                continue;
            }
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Number of an expected value.
pub(crate) fn exact(value: &Json) -> Option<f64> {
    let float = value.as_str().and_then(|text| text.strip_prefix("float:"));
    float.map_or_else(|| value.as_f64(), |text| text.parse().ok())
}

/// Compares numbers as doubles at any depth.
pub(crate) fn is_same(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (Json::Array(found), Json::Array(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len() && pairs.all(|(found, wanted)| is_same(found, wanted))
        }
        (Json::Object(found), Json::Object(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len()
                && pairs.all(|(found, wanted)| found.0 == wanted.0 && is_same(found.1, wanted.1))
        }
        _ => match (found.as_f64(), exact(wanted)) {
            (Some(number), Some(other)) => number == other,
            _ => found == wanted,
        },
    }
}

pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let minimum = values.iter().copied().fold(f64::INFINITY, f64::min);
    let maximum = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (minimum, maximum)
}

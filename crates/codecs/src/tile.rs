//! Tile configurations: loop bounds of a kernel.

/// Numbers per row of `config_feat`: three bounds of six dimensions, each with sum and product.
pub const WIDTH: usize = 24;

/// A row of `config_feat`.
pub type Tile = [i64; WIDTH];

/// Bounds in the order of a row of `config_feat`.
const BOUNDS: [&str; 3] = ["kernel_bounds", "output_bounds", "input_bounds"];

/// Dimensions per bound; sum and product follow.
const DIMENSIONS: usize = 6;

/// Formats a tile as steps: `[["kernel_bounds", 16, 32, 0, 0, 0, 0], ["output_bounds", ..`.
///
/// Sum and product of a bound are written only if they differ from those of its dimensions. `sample` (file
/// and row) identifies a row whose bounds are not unique in its file.
pub fn steps(tile: &Tile, sample: Option<(i64, usize)>) -> String {
    let mut steps = Vec::with_capacity(4);
    for (name, bound) in BOUNDS.iter().zip(tile.chunks(WIDTH / BOUNDS.len())) {
        let (dimensions, derived) = bound.split_at(DIMENSIONS.min(bound.len()));
        let numbers = if derived == sum_and_product(dimensions) {
            dimensions
        } else {
            bound
        };
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        steps.push(format!("[\"{name}\", {}]", numbers.join(", ")));
    }
    if let Some((source_id, row)) = sample {
        steps.push(format!("[\"sample\", \"{source_id:016x}\", {row}]"));
    }
    format!("[{}]", steps.join(", "))
}

/// Sum and product as the featurizer of TpuGraphs computes them: 0 for an empty bound.
fn sum_and_product(dimensions: &[i64]) -> [i64; 2] {
    let used = dimensions.iter().filter(|&&size| size != 0);
    let product = used.copied().reduce(i64::saturating_mul);
    [
        dimensions
            .iter()
            .fold(0, |sum, &size| sum.saturating_add(size)),
        product.unwrap_or(0),
    ]
}

/// Undoes [`steps`]. Returns `None` for other steps.
pub fn parse_steps(steps: &str) -> Option<Tile> {
    parse_canonical(steps.as_bytes()).or_else(|| parse_json(steps))
}

/// Fast path for the exact form of [`steps`] without a sample, twenty times as fast.
fn parse_canonical(steps: &[u8]) -> Option<Tile> {
    let mut tile = [0; WIDTH];
    let mut rest = steps.strip_prefix(b"[")?;
    let bounds = tile.chunks_mut(WIDTH / BOUNDS.len());
    for (index, (name, bound)) in BOUNDS.iter().zip(bounds).enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b", ")?;
        }
        rest = rest.strip_prefix(b"[\"")?.strip_prefix(name.as_bytes())?;
        rest = rest.strip_prefix(b"\"")?;
        let mut count = 0;
        while let Some(after) = rest.strip_prefix(b", ") {
            let (number, after) = split_integer(after)?;
            *bound.get_mut(count)? = number;
            count += 1;
            rest = after;
        }
        rest = rest.strip_prefix(b"]")?;
        if count == DIMENSIONS {
            let (dimensions, derived) = bound.split_at_mut_checked(DIMENSIONS)?;
            derived.copy_from_slice(&sum_and_product(dimensions));
        } else if count != bound.len() {
            return None;
        }
    }
    (rest == b"]").then_some(tile)
}

/// Splits off the integer at the start of a text.
fn split_integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let length = digits
        .iter()
        .take_while(|digit| digit.is_ascii_digit())
        .count();
    let (number_digits, rest) = digits.split_at_checked(length).filter(|_| length > 0)?;
    let add = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
    let number = number_digits.iter().try_fold(0_i64, add)?;
    Some((if is_negative { -number } else { number }, rest))
}

fn parse_json(steps: &str) -> Option<Tile> {
    let steps: Vec<Vec<serde_json::Value>> = serde_json::from_str(steps).ok()?;
    let mut tile = [0; WIDTH];
    let width = WIDTH / BOUNDS.len();
    for ((name, bound), step) in BOUNDS.iter().zip(tile.chunks_mut(width)).zip(&steps) {
        let (first, numbers) = step.split_first()?;
        if first.as_str()? != *name || ![DIMENSIONS, width].contains(&numbers.len()) {
            return None;
        }
        let numbers: Option<Vec<i64>> = numbers.iter().map(serde_json::Value::as_i64).collect();
        let mut numbers = numbers?;
        if numbers.len() == DIMENSIONS {
            let derived = sum_and_product(&numbers);
            numbers.extend(derived);
        }
        bound.copy_from_slice(&numbers);
    }
    (steps.len() >= BOUNDS.len()).then_some(tile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_come_back() {
        let mut tile = [0; WIDTH];
        tile[..8].copy_from_slice(&[16, 32, 0, 0, 0, 0, 48, 512]);
        tile[8..16].copy_from_slice(&[16, 5, 1, 2, 0, 0, 24, 160]);
        assert_eq!(
            steps(&tile, None),
            "[[\"kernel_bounds\", 16, 32, 0, 0, 0, 0], [\"output_bounds\", 16, 5, 1, 2, 0, 0], \
             [\"input_bounds\", 0, 0, 0, 0, 0, 0]]"
        );
        let mut odd = tile;
        odd[15] = 161;
        odd[16] = -3;
        for one in [tile, odd, [7; WIDTH], [0; WIDTH]] {
            assert_eq!(parse_steps(&steps(&one, None)).unwrap(), one);
            assert_eq!(parse_steps(&steps(&one, Some((-5, 3)))).unwrap(), one);
        }
        // Other spellings parse to the same tile.
        let spaced = steps(&odd, None).replace(", ", ",").replace(']', " ]");
        assert_eq!(
            (parse_canonical(spaced.as_bytes()), parse_steps(&spaced)),
            (None, Some(odd))
        );
        for one in [tile, odd, [i64::MIN; WIDTH], [i64::MAX; WIDTH], [0; WIDTH]] {
            assert_eq!(parse_steps(&steps(&one, None)), Some(one));
        }
        assert_eq!(parse_canonical(steps(&odd, None).as_bytes()), Some(odd));
        for broken in [
            "",
            "[",
            "[]",
            "[[\"kernel_bounds\"]]",
            "[[\"kernel_bounds\", 1, 2, 3, 4, 5]",
        ] {
            assert_eq!(parse_steps(broken), None, "{broken}");
        }
        assert!(steps(&tile, Some((-5, 3))).contains("\"fffffffffffffffb\", 3]"));
        assert_eq!(parse_steps("[[\"SP\", 1]]"), None);
    }
}

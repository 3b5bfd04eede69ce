//! Tile configurations: the bounds that a kernel's loops are cut to.

/// Numbers of a row of `config_feat`: three bounds of six dimensions, each with sum and product.
pub const WIDTH: usize = 24;

/// A row of `config_feat`.
pub type Tile = [i64; WIDTH];

/// Bounds in the order of a row of `config_feat`.
const BOUNDS: [&str; 3] = ["kernel_bounds", "output_bounds", "input_bounds"];

/// Dimensions of a bound; its sum and its product follow.
const DIMENSIONS: usize = 6;

/// A tile as steps: `[["kernel_bounds", 16, 32, 0, 0, 0, 0], ["output_bounds", ..`; sum and product
/// of a bound follow only where they are not those of its dimensions. Where the bounds do not tell
/// a row from others of its file, it is told by its `sample`: file and row.
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

/// What the featurizer of TpuGraphs makes of a bound: 0 for an empty one.
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

/// Undoes [`steps`]; `None` for steps of another kind.
pub fn row(steps: &str) -> Option<Tile> {
    spelled(steps.as_bytes()).or_else(|| parsed(steps))
}

/// The same of steps as [`steps`] spells them where they are told by their bounds, twenty times as fast.
fn spelled(steps: &[u8]) -> Option<Tile> {
    let mut tile = [0; WIDTH];
    let mut rest = steps.strip_prefix(b"[")?;
    let places = tile.chunks_mut(WIDTH / BOUNDS.len());
    for (place, (name, bound)) in BOUNDS.iter().zip(places).enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(b", ")?;
        }
        rest = rest.strip_prefix(b"[\"")?.strip_prefix(name.as_bytes())?;
        rest = rest.strip_prefix(b"\"")?;
        let mut count = 0;
        while let Some(after) = rest.strip_prefix(b", ") {
            let (number, after) = integer(after)?;
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

/// The number that a text begins with, and what follows.
fn integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let length = digits
        .iter()
        .take_while(|digit| digit.is_ascii_digit())
        .count();
    let (own, rest) = digits.split_at_checked(length).filter(|_| length > 0)?;
    let add = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
    let number = own.iter().try_fold(0_i64, add)?;
    Some((if is_negative { -number } else { number }, rest))
}

fn parsed(steps: &str) -> Option<Tile> {
    let steps: Vec<Vec<serde_json::Value>> = serde_json::from_str(steps).ok()?;
    let mut tile = [0; WIDTH];
    let width = WIDTH / BOUNDS.len();
    for ((name, place), step) in BOUNDS.iter().zip(tile.chunks_mut(width)).zip(&steps) {
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
        place.copy_from_slice(&numbers);
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
            assert_eq!(row(&steps(&one, None)).unwrap(), one);
            assert_eq!(row(&steps(&one, Some((-5, 3)))).unwrap(), one);
        }
        // Other spellings of the same mean the same.
        let spaced = steps(&odd, None).replace(", ", ",").replace(']', " ]");
        assert_eq!(
            (spelled(spaced.as_bytes()), row(&spaced)),
            (None, Some(odd))
        );
        for one in [tile, odd, [i64::MIN; WIDTH], [i64::MAX; WIDTH], [0; WIDTH]] {
            assert_eq!(row(&steps(&one, None)), Some(one));
        }
        assert_eq!(spelled(steps(&odd, None).as_bytes()), Some(odd));
        for broken in [
            "",
            "[",
            "[]",
            "[[\"kernel_bounds\"]]",
            "[[\"kernel_bounds\", 1, 2, 3, 4, 5]",
        ] {
            assert_eq!(row(broken), None, "{broken}");
        }
        assert!(steps(&tile, Some((-5, 3))).contains("\"fffffffffffffffb\", 3]"));
        assert_eq!(row("[[\"SP\", 1]]"), None);
    }
}

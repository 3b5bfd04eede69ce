//! Disturbed repeats: the text `[[wall ns, processor ns, involuntary switches], ...]`.

use serde_json::Value;
use tsql_codecs::number::{Decimal, Spelling, write_integer};

/// Repeat that is excluded from the statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DisturbedRepeat {
    /// Wall time.
    pub wall_ns: f64,
    /// Processor time, if it was measured.
    pub cpu_ns: Option<f64>,
    /// Number of involuntary context switches, if they were counted.
    pub involuntary_switches: Option<i64>,
}

/// Parses a canonical text; `None` if it is another list, or if the repeats do not reproduce the text.
pub fn parse(text: &str) -> Option<Vec<DisturbedRepeat>> {
    let repeats = parse_list(text)?;
    (format_list(&repeats).as_deref() == Some(text)).then_some(repeats)
}

/// Parses any text that lists repeats; `None` for other lists.
pub fn parse_list(text: &str) -> Option<Vec<DisturbedRepeat>> {
    let lists: Vec<[Value; 3]> = serde_json::from_str(text).ok()?;
    let repeat = |[wall, cpu, switches]: &[Value; 3]| {
        let is_present = |value: &Value| !value.is_null();
        Some(DisturbedRepeat {
            wall_ns: wall.as_f64()?,
            cpu_ns: is_present(cpu)
                .then(|| cpu.as_f64().ok_or(()))
                .transpose()
                .ok()?,
            involuntary_switches: is_present(switches)
                .then(|| switches.as_i64().ok_or(()))
                .transpose()
                .ok()?,
        })
    };
    lists.iter().map(repeat).collect()
}

/// Formats repeats like Python's `json.dumps`; `None` if a number cannot be expressed.
pub fn format_list(repeats: &[DisturbedRepeat]) -> Option<String> {
    let mut text = vec![b'['];
    for (index, repeat) in repeats.iter().enumerate() {
        if index > 0 {
            text.extend_from_slice(b", ");
        }
        text.push(b'[');
        write_number(Some(repeat.wall_ns), &mut text)?;
        text.extend_from_slice(b", ");
        write_number(repeat.cpu_ns, &mut text)?;
        text.extend_from_slice(b", ");
        match repeat.involuntary_switches {
            Some(count) => write_integer(count, &mut text),
            None => text.extend_from_slice(b"null"),
        }
        text.push(b']');
    }
    text.push(b']');
    String::from_utf8(text).ok()
}

/// Writes a number; integers without a decimal point.
fn write_number(value: Option<f64>, out: &mut Vec<u8>) -> Option<()> {
    let Some(value) = value else {
        out.extend_from_slice(b"null");
        return Some(());
    };
    let value = Decimal::from_f64(value)?;
    match value.digits_at(0) {
        Some(integer) => write_integer(integer, out),
        None => value.write(Spelling::Shortest, out).then_some(())?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_formatted_as_their_text() {
        for text in [
            "[]",
            "[[2500000.5, 1400000, 3]]",
            "[[431123, null, 0], [0.125, 1e-05, null]]",
        ] {
            let repeats = parse(text).unwrap();
            assert_eq!(format_list(&repeats).as_deref(), Some(text));
        }
        let one = parse("[[7.5, null, 2]]").unwrap();
        let (wall_ns, cpu_ns, involuntary_switches) = (7.5, None, Some(2));
        let expected = DisturbedRepeat {
            wall_ns,
            cpu_ns,
            involuntary_switches,
        };
        assert_eq!(one, [expected]);
    }

    #[test]
    fn other_lists_are_rejected() {
        for text in [
            "[1, 2]",
            "[[1, 2]]",
            "[[\"a\", 1, 1]]",
            "[[null, 1, 1]]",
            "[[1, 1, 1.5]]",
        ] {
            assert_eq!(parse_list(text), None, "{text}");
        }
        // Repeats in a spelling that numbers do not preserve.
        assert_eq!(parse("[[1.50, 1, 1]]"), None);
        assert_eq!(parse_list("[[1.50, 1, 1]]").unwrap().len(), 1);
    }
}

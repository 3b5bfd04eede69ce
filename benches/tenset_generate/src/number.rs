//! Numbers as a C++ stream writes them, and random ones of given shapes.

use fastrand::Rng;

/// Appends `value` with six significant digits, as `std::ostream` does by default (`%g`).
pub fn write_g6(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let mut exponent = value.abs().log10().floor() as i32;
    let mut digits = (value.abs() * 10_f64.powi(5 - exponent)).round() as u64;
    if digits >= 1_000_000 {
        exponent += 1;
        digits /= 10;
    }
    if digits < 100_000 {
        exponent -= 1;
        digits = (value.abs() * 10_f64.powi(5 - exponent)).round() as u64;
    }
    let mut text = [0_u8; 6];
    let mut rest = digits;
    for place in text.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let kept = 6 - text
        .iter()
        .rev()
        .take_while(|&&digit| digit == b'0')
        .count();
    let text = &text[..kept.max(1)];
    if value < 0.0 {
        out.push(b'-');
    }
    if (-4..6).contains(&exponent) {
        let whole = usize::try_from(exponent + 1).unwrap_or(0);
        if whole == 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-1 - exponent) as usize));
            out.extend_from_slice(text);
        } else if text.len() <= whole {
            out.extend_from_slice(text);
            out.extend(std::iter::repeat_n(b'0', whole - text.len()));
        } else {
            out.extend_from_slice(&text[..whole]);
            out.push(b'.');
            out.extend_from_slice(&text[whole..]);
        }
        return;
    }
    out.push(text[0]);
    if text.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&text[1..]);
    }
    out.push(b'e');
    out.push(if exponent < 0 { b'-' } else { b'+' });
    let size = exponent.unsigned_abs();
    out.push(b'0' + (size / 10) as u8);
    out.push(b'0' + (size % 10) as u8);
}

/// Appends a whole number.
pub fn write_int(value: u64, out: &mut Vec<u8>) {
    let mut text = [0_u8; 20];
    let (mut place, mut rest) = (text.len(), value);
    loop {
        place -= 1;
        text[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[place..]);
}

/// Appends `[1, 2, 3]`.
pub fn write_list(values: &[u64], out: &mut Vec<u8>) {
    out.push(b'[');
    for (place, &value) in values.iter().enumerate() {
        if place > 0 {
            out.extend_from_slice(b", ");
        }
        write_int(value, out);
    }
    out.push(b']');
}

/// A number of the standard normal distribution.
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// A generator of its own for each thing that is drawn, so that none depends on what came before.
pub fn rng(seed: u64, words: &[u64]) -> Rng {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    for &word in words {
        state = (state ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 29;
    }
    Rng::with_seed(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_a_stream_writes_them() {
        for (value, text) in [
            (0.176353, "0.176353"),
            (3.90316, "3.90316"),
            (1e10, "1e+10"),
            (2.5e-5, "2.5e-05"),
            (1.234567e-5, "1.23457e-05"),
            (0.00012, "0.00012"),
            (123456.4, "123456"),
            (15.0, "15"),
            (0.999_999_96, "1"),
        ] {
            let mut out = Vec::new();
            write_g6(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}

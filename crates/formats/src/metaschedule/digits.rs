//! Doubles in the format of TVM's `JSONDumps`.

use tsql_codecs::number::write_general;

/// Significant digits of TVM: `std::setprecision(20)`. 17 digits identify a double, so the remaining digits come from
/// its exact value.
const DIGITS: usize = 20;

/// Appends a number like C's `%.20g`. Returns false and appends nothing if it is not finite.
pub(super) fn write_double(value: f64, out: &mut Vec<u8>) -> bool {
    // Exact digits, with ties rounded to even like the C library.
    let text = format!("{:.*e}", DIGITS - 1, value.abs());
    let Some((digits, leading)) = text.split_once('e') else {
        return false;
    };
    let (Ok(leading), Ok(limit)) = (leading.parse(), i32::try_from(DIGITS)) else {
        return false;
    };
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let digits = digits.replace('.', "");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        out.push(b'0');
    } else {
        write_general(significant.as_bytes(), leading, limit, out);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double_text(value: f64) -> String {
        let mut out = Vec::new();
        assert!(write_double(value, &mut out));
        String::from_utf8(out).unwrap()
    }

    /// Output of `printf '%.20g'`, produced by the C library.
    #[test]
    fn doubles_match_the_c_library() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.2, "0.2000000000000000111"),
            (0.25, "0.25"),
            (-0.1, "-0.10000000000000000555"),
            (1.0, "1"),
            (1e10, "10000000000"),
            (123_456_789.123_456_79, "123456789.12345679104"),
            (0.000_503_029, "0.00050302899999999999784"),
            (5.532_3e-5, "5.5322999999999998696e-05"),
            (2.159_778_812_720_848e-5, "2.1597788127208481006e-05"),
            (0.0001, "0.00010000000000000000479"),
            (1e-5, "1.0000000000000000818e-05"),
            (1e19, "10000000000000000000"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (1.5e300, "1.5000000000000000788e+300"),
            (f64::MAX, "1.7976931348623157081e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072013831e-308"),
            (5e-324, "4.9406564584124654418e-324"),
            (0.3, "0.2999999999999999889"),
            // 21 digits with a final 5: rounded to even.
            (210_001.0 / 2_097_152.0, "0.10013628005981445312"),
            (210_003.0 / 2_097_152.0, "0.10013723373413085938"),
            // Rounded up to a power of ten, and next to one.
            (999_999.999_999_999_9, "999999.99999999988358"),
            (0.000_099_999_999_999_999_99, "9.999999999999999124e-05"),
        ] {
            assert_eq!(double_text(value), expected);
        }
        for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let mut out = Vec::new();
            assert!(!write_double(value, &mut out) && out.is_empty());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_double_is_parsed_back(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let text = double_text(value);
                proptest::prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{}", text);
                let digits = text.split('e').next().unwrap().bytes().filter(u8::is_ascii_digit);
                let digits: Vec<u8> = digits.skip_while(|digit| *digit == b'0').collect();
                proptest::prop_assert!(digits.len() <= DIGITS);
            }
        }
    }
}

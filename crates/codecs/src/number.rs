//! Decimal numbers in logs: exact digits, and the two number formats of log writers.
//!
//! TVM prints C++'s default of six significant digits (`%g`). Python prints the shortest text that reads
//! back as the same double. A [`Decimal`] holds the written digits without rounding.

/// `digits * 10^exponent`, with no trailing zero in `digits` (zero is `0 * 10^0`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    /// Digits with sign.
    pub digits: i64,
    /// Power of ten of the last digit.
    pub exponent: i32,
}

/// Number format of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// C++ `ostream << double`: at most six digits, scientific below 1e-4 and from 1e6 on.
    SixDigits,
    /// Python `repr`: scientific below 1e-4 and from 1e16 on.
    Shortest,
}

/// Powers of ten that are exact as doubles.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Integers up to this are exact as doubles.
const MAX_EXACT_INTEGER: i64 = 1 << 53;

impl Decimal {
    /// Parses a JSON number of at most 18 significant digits. Returns `None` for more digits, or an
    /// exponent outside the range of doubles.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (negative, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        let (mut digits, mut exponent, mut point) = (0_i64, 0_i32, false);
        let mut rest = text.iter();
        let mut explicit = 0;
        while let Some(&byte) = rest.next() {
            match byte {
                b'0'..=b'9' => {
                    digits = digits
                        .checked_mul(10)?
                        .checked_add(i64::from(byte - b'0'))?;
                    exponent -= i32::from(point);
                }
                b'.' => point = true,
                b'e' | b'E' => {
                    let tail = std::str::from_utf8(rest.as_slice()).ok()?;
                    explicit = tail.strip_prefix('+').unwrap_or(tail).parse::<i32>().ok()?;
                    break;
                }
                _ => return None,
            }
        }
        let exponent = exponent.checked_add(explicit)?;
        let decimal = Self {
            digits: if negative { -digits } else { digits },
            exponent,
        }
        .trim_zeros();
        (decimal.exponent.abs() <= 400).then_some(decimal)
    }

    /// The shortest decimal that reads back as `value`.
    pub fn from_f64(value: f64) -> Option<Self> {
        let mut buffer = Buffer::default();
        std::fmt::Write::write_fmt(&mut buffer, format_args!("{value:e}")).ok()?;
        Self::parse(buffer.bytes())
    }

    /// Removes trailing zeros from the digits.
    pub fn trim_zeros(mut self) -> Self {
        if self.digits == 0 {
            return Self {
                digits: 0,
                exponent: 0,
            };
        }
        while self.digits % 10 == 0 {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }

    /// Extends the digits to at least six, so that close numbers of up to six digits share an exponent.
    /// Zero stays zero.
    pub fn pad_digits(mut self) -> Self {
        while self.digits != 0 && self.digits.abs() < 100_000 {
            self.digits *= 10;
            self.exponent -= 1;
        }
        self
    }

    /// Digits at the given `exponent`. Returns `None` if they are not an integer of 18 digits.
    pub fn digits_at(self, exponent: i32) -> Option<i64> {
        if self.digits == 0 {
            return Some(0);
        }
        let shift = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        10_i64.checked_pow(shift)?.checked_mul(self.digits)
    }

    /// `self * 10^places`.
    pub fn scale_by_power(self, places: i32) -> Self {
        Self {
            digits: self.digits,
            exponent: self.exponent + if self.digits == 0 { 0 } else { places },
        }
    }

    /// The double nearest to `self * 10^shift`.
    #[inline]
    pub fn to_f64(self, shift: i32) -> f64 {
        let exponent = self.exponent + shift;
        let power = usize::try_from(exponent.unsigned_abs());
        let power = power.ok().and_then(|index| POWERS.get(index));
        match power {
            // One rounding: both factors are exact.
            Some(power) if self.digits.unsigned_abs() <= MAX_EXACT_INTEGER.unsigned_abs() => {
                #[expect(clippy::cast_precision_loss, reason = "exact: checked above")]
                let digits = self.digits as f64;
                if exponent < 0 {
                    digits / power
                } else {
                    digits * power
                }
            }
            _ => ratio(self.digits, 1, exponent),
        }
    }

    /// Appends the number in `spelling`. Returns false, and appends nothing, if the spelling cannot
    /// represent it.
    pub fn write(self, spelling: Spelling, out: &mut Vec<u8>) -> bool {
        let mut buffer = [0_u8; 20];
        let digits = write_digits(self.digits.unsigned_abs(), &mut buffer);
        let Ok(count) = i32::try_from(digits.len()) else {
            return false;
        };
        let limit = match spelling {
            Spelling::SixDigits => 6,
            Spelling::Shortest => 16,
        };
        if spelling == Spelling::SixDigits && count > 6 {
            return false;
        }
        if self.digits < 0 {
            out.push(b'-');
        }
        let leading = self.exponent + count - 1;
        if self.digits == 0 {
            out.push(b'0');
        } else {
            write_general(digits, leading, limit, out);
        }
        true
    }
}

/// Precomputed factor `10^exponent` for scaling many numbers.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    exponent: i32,
    power: Option<f64>,
}

impl Scale {
    /// Creates the factor `10^exponent`.
    pub fn new(exponent: i32) -> Self {
        let index = usize::try_from(exponent.unsigned_abs()).ok();
        let power = index.and_then(|index| POWERS.get(index)).copied();
        Self { exponent, power }
    }

    /// `value * 10^exponent` with one rounding.
    pub fn scale(self, value: f64) -> f64 {
        match self.power {
            Some(power) if self.exponent < 0 => value / power,
            Some(power) => value * power,
            None => value * 10_f64.powi(self.exponent),
        }
    }

    /// The double nearest to `digits * 10^exponent`.
    pub fn apply(self, digits: i64) -> f64 {
        let Some(power) = self
            .power
            .filter(|_| digits.unsigned_abs() <= MAX_EXACT_INTEGER.unsigned_abs())
        else {
            return ratio(digits, 1, self.exponent);
        };
        #[expect(clippy::cast_precision_loss, reason = "exact: checked above")]
        let digits = digits as f64;
        if self.exponent < 0 {
            digits / power
        } else {
            digits * power
        }
    }
}

/// The double nearest to `digits / divisor * 10^exponent`. Rounds once if all factors are exact doubles,
/// else converts through decimal text.
pub fn ratio(digits: i64, divisor: i64, exponent: i32) -> f64 {
    let power = usize::try_from(exponent.unsigned_abs())
        .ok()
        .and_then(|index| POWERS.get(index));
    if let Some(&power) = power {
        #[expect(clippy::cast_precision_loss, reason = "both are exact: checked below")]
        let (numerator, denominator) = (digits as f64, divisor as f64);
        #[expect(clippy::cast_precision_loss, reason = "a bound")]
        let exact = MAX_EXACT_INTEGER as f64;
        if digits.unsigned_abs() <= MAX_EXACT_INTEGER.unsigned_abs()
            && exponent < 0
            && denominator * power <= exact
        {
            return numerator / (denominator * power);
        }
        if exponent >= 0 && numerator.abs() * power <= exact {
            return numerator * power / denominator;
        }
        if digits.unsigned_abs() <= MAX_EXACT_INTEGER.unsigned_abs() && divisor == 1 {
            return if exponent < 0 {
                numerator / power
            } else {
                numerator * power
            };
        }
    }
    let value = format!("{digits}e{exponent}")
        .parse::<f64>()
        .unwrap_or(f64::NAN);
    #[expect(clippy::cast_precision_loss, reason = "a repeat count")]
    let divisor = divisor as f64;
    value / divisor
}

fn write_digits(mut value: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut start = buffer.len();
    for slot in buffer.iter_mut().rev() {
        *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        start -= 1;
        if value == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or(&[])
}

/// Appends `digits`, the first with the value `10^leading`, like C's `%g`: scientific below 1e-4 and from
/// `10^limit` on.
pub fn write_general(digits: &[u8], leading: i32, limit: i32, out: &mut Vec<u8>) {
    if leading < -4 || leading >= limit {
        write_scientific(digits, leading, out);
        return;
    }
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    write_fixed(digits, leading.saturating_add(1) - count, leading, out);
}

fn write_scientific(digits: &[u8], leading: i32, out: &mut Vec<u8>) {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    out.extend_from_slice(first);
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest);
    }
    out.push(b'e');
    out.push(if leading < 0 { b'-' } else { b'+' });
    let exponent = leading.unsigned_abs();
    if exponent < 10 {
        out.push(b'0');
    }
    write_integer(i64::from(exponent), out);
}

fn write_fixed(digits: &[u8], exponent: i32, leading: i32, out: &mut Vec<u8>) {
    let zeros = |out: &mut Vec<u8>, count: i32| {
        for _ in 0..count {
            out.push(b'0');
        }
    };
    if exponent >= 0 {
        out.extend_from_slice(digits);
        zeros(out, exponent);
    } else if leading < 0 {
        out.extend_from_slice(b"0.");
        zeros(out, -leading - 1);
        out.extend_from_slice(digits);
    } else {
        let split = usize::try_from(leading + 1).unwrap_or(0).min(digits.len());
        let (integer, fraction) = digits.split_at(split);
        out.extend_from_slice(integer);
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

/// Appends an integer in decimal.
pub fn write_integer(value: i64, out: &mut Vec<u8>) {
    if let Some(digit) = u8::try_from(value).ok().filter(|&value| value < 10) {
        out.push(b'0' + digit);
        return;
    }
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = [0_u8; 20];
    out.extend_from_slice(write_digits(value.unsigned_abs(), &mut buffer));
}

/// Stack space for a formatted double (`{:e}` needs at most 24 bytes).
#[derive(Default)]
struct Buffer {
    bytes: [u8; 32],
    length: usize,
}

impl Buffer {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

impl std::fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        let target = self
            .bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Parses a non-negative integer in the exact form that [`write_integer`] writes.
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let is_canonical = match text {
        [] | [b'0', _, ..] => false,
        _ => text.len() <= 18 && text.iter().all(u8::is_ascii_digit),
    };
    let digit = |byte: &u8| i64::from(byte.wrapping_sub(b'0'));
    let value = |text: &[u8]| text.iter().fold(0, |value, byte| value * 10 + digit(byte));
    is_canonical.then(|| value(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(text: &str, spelling: Spelling) -> String {
        let mut out = Vec::new();
        assert!(
            Decimal::parse(text.as_bytes())
                .unwrap()
                .write(spelling, &mut out)
        );
        String::from_utf8(out).unwrap()
    }

    /// Expected: output of `printf '%g'` of the C library.
    #[test]
    fn six_digits_are_spelled_as_cpp_does() {
        for text in [
            "0",
            "3",
            "0.0136712",
            "2.34567e-05",
            "0.0001",
            "100000",
            "1e+06",
            "1e+10",
            "123456",
            "1.23457e+06",
            "15.0243",
            "1e-05",
            "-2.5",
        ] {
            assert_eq!(spell(text, Spelling::SixDigits), text);
        }
    }

    /// Expected: Python's `repr` (integral values without the `.0`, as TVM's integers load).
    #[test]
    fn shortest_is_spelled_as_python_does() {
        for text in [
            "0.00012345678901234",
            "1.5e-05",
            "10000000000",
            "1e+16",
            "0.1",
            "1234567.25",
        ] {
            assert_eq!(spell(text, Spelling::Shortest), text);
        }
    }

    #[test]
    fn seven_digits_do_not_fit_six() {
        assert!(
            !Decimal::parse(b"0.1234567")
                .unwrap()
                .write(Spelling::SixDigits, &mut Vec::new())
        );
    }

    #[test]
    fn scaling_is_correctly_rounded() {
        for text in [
            "2.34567e-05",
            "0.176353",
            "7.1e-7",
            "123456e3",
            "9.99999e-9",
        ] {
            let decimal = Decimal::parse(text.as_bytes()).unwrap();
            let expected: f64 = format!("{}e{}", decimal.digits, decimal.exponent + 9)
                .parse()
                .unwrap();
            assert_eq!(decimal.to_f64(9).to_bits(), expected.to_bits(), "{text}");
        }
    }

    #[test]
    fn out_of_range_is_rejected() {
        assert_eq!(Decimal::parse(b"1e999"), None);
        assert_eq!(Decimal::parse(b"99999999999999999999"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_double_comes_back_from_its_shortest_decimal(value in 0.0_f64..1e15) {
            if let Some(decimal) = Decimal::from_f64(value) {
                proptest::prop_assert_eq!(decimal.to_f64(0).to_bits(), value.to_bits());
            }
        }
    }
}

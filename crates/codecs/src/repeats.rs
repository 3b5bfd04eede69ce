//! Lossless, compact encoding of the repeats of one measurement.
//!
//! `runtime_ns` is the correctly rounded mean of the repeats. A single repeat equals the mean, so nothing
//! else is stored. Of several, all but the last are stored as differences from the mean, in units of the
//! last decimal place that any of them has. The last one follows from the sum.
//!
//! ```text
//! varint  exponent * 2 + explicit       value of one unit: 10^exponent s
//! bits    difference (zigzag)           explicit = 0: repeats 1 .. n-1, from the rounded mean
//!   or    digits (zigzag)               explicit = 1: all n, if the mean does not give the sum
//!
//! varint  RAW, then n doubles (s)       if they have no common unit within 18 digits
//! varint  STATED, the runtime (ns),
//!         then n doubles (s)            if the source states another runtime than the mean, such as the median
//! ```
//!
//! Bits are used instead of bytes because differences of a percent or two have 14 to 17 bits. The width
//! of a number follows from the byte length.

use tsql_metrics::stats;

use crate::number::{Decimal, Scale, ratio};
use crate::{bits, varint};

/// Decimal places between the seconds of a log and nanoseconds.
pub const NANO_PLACES: i32 = 9;

/// Below this (2^50), adding a half and truncating rounds exactly. It avoids a function call.
const ROUND_BY_TRUNCATION_LIMIT: f64 = 1_125_899_906_842_624.0;

/// Header value before raw doubles. No exponent is this large.
const RAW: i64 = 1 << 20;

/// Header value before a stated runtime and raw doubles.
const STATED: i64 = RAW + 2;

/// Maximum number of repeats of a measurement; a line has at most 16 MiB.
///
/// Equal repeats take no bytes, so a damaged count must not request unbounded memory.
const MAX_REPEATS: i32 = 1 << 23;

/// The columns of a measurement's repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedRepeats {
    /// Mean in nanoseconds.
    pub runtime_ns: f64,
    /// The other repeats. `None` if the mean determines them.
    pub bytes: Option<Vec<u8>>,
}

/// Packs `costs` (seconds). Returns `None` for an empty list.
pub fn pack(costs: &[Decimal]) -> Option<PackedRepeats> {
    if costs.is_empty() {
        return None;
    }
    pack_in_units(costs).or_else(|| Some(pack_raw(costs)))
}

/// Packs `costs` (seconds) beside a stated run time that is not their mean, such as their median. Returns `None` for an
/// empty list.
pub fn pack_beside(stated_ns: f64, costs: &[Decimal]) -> Option<PackedRepeats> {
    if costs.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(costs.len() * 8 + 11);
    varint::write(STATED, &mut bytes);
    bytes.extend_from_slice(&stated_ns.to_le_bytes());
    for cost in costs {
        bytes.extend_from_slice(&cost.to_f64(0).to_le_bytes());
    }
    Some(PackedRepeats {
        runtime_ns: stated_ns,
        bytes: Some(bytes),
    })
}

fn pack_raw(costs: &[Decimal]) -> PackedRepeats {
    let mut bytes = Vec::with_capacity(costs.len() * 8 + 3);
    varint::write(RAW, &mut bytes);
    let mut total = 0.0;
    for cost in costs {
        total += cost.to_f64(NANO_PLACES);
        bytes.extend_from_slice(&cost.to_f64(0).to_le_bytes());
    }
    #[expect(clippy::cast_precision_loss, reason = "a repeat count")]
    let count = costs.len() as f64;
    PackedRepeats {
        runtime_ns: total / count,
        bytes: Some(bytes),
    }
}

fn pack_in_units(costs: &[Decimal]) -> Option<PackedRepeats> {
    let exponent = costs
        .iter()
        .filter(|cost| cost.digits != 0)
        .map(|cost| cost.exponent)
        .min();
    let exponent = exponent.unwrap_or(0);
    let count = i64::try_from(costs.len()).ok()?;
    let mut total = 0_i64;
    for cost in costs {
        total = total.checked_add(cost.digits_at(exponent)?)?;
    }
    let runtime_ns = ratio(total, count, exponent + NANO_PLACES);
    if let [cost] = costs
        && single_repeat(runtime_ns) == Some(*cost)
    {
        return Some(PackedRepeats {
            runtime_ns,
            bytes: None,
        });
    }
    let mut bytes = Vec::with_capacity(costs.len() * 3);
    if costs.len() > 1 && sum_in_units(runtime_ns, count, exponent) == Some(total) {
        varint::write(i64::from(exponent) * 2, &mut bytes);
        let mean = rounded_mean(total, count);
        let others = costs.iter().take(costs.len() - 1);
        let differences: Option<Vec<i64>> = others
            .map(|cost| Some(cost.digits_at(exponent)? - mean))
            .collect();
        bits::write(&differences?, &mut bytes);
    } else {
        varint::write(i64::from(exponent) * 2 + 1, &mut bytes);
        let digits: Option<Vec<i64>> = costs.iter().map(|cost| cost.digits_at(exponent)).collect();
        bits::write(&digits?, &mut bytes);
    }
    Some(PackedRepeats {
        runtime_ns,
        bytes: Some(bytes),
    })
}

/// Appends the repeats (seconds) to `costs`. Returns `None` if the columns are inconsistent.
pub fn unpack(
    runtime_ns: f64,
    count: i32,
    bytes: Option<&[u8]>,
    costs: &mut Vec<Decimal>,
) -> Option<()> {
    let Some(mut bytes) = bytes else {
        costs.push(single_repeat(runtime_ns).filter(|_| count == 1)?);
        return Some(());
    };
    let head = varint::read(&mut bytes)?;
    let count = checked_count(count)?;
    if head == STATED {
        read_double(&mut bytes)?;
    }
    if head == RAW || head == STATED {
        let (doubles, rest) = bytes.as_chunks::<8>();
        costs.extend(
            doubles
                .iter()
                .filter_map(|&bits| Decimal::from_f64(f64::from_le_bytes(bits))),
        );
        return (doubles.len() == count && rest.is_empty()).then_some(());
    }
    let exponent = i32::try_from(head >> 1).ok()?;
    let cost = |digits: i64| Decimal { digits, exponent }.trim_zeros();
    if head & 1 == 1 {
        costs.extend(bits::read(bytes, count)?.into_iter().map(cost));
        return Some(());
    }
    let total = sum_in_units(runtime_ns, i64::try_from(count).ok()?, exponent)?;
    let mean = rounded_mean(total, i64::try_from(count).ok()?);
    let mut last = total;
    for difference in bits::read(bytes, count.checked_sub(1)?)? {
        let digits = mean.checked_add(difference)?;
        last = last.checked_sub(digits)?;
        costs.push(cost(digits));
    }
    costs.push(cost(last));
    Some(())
}

/// Reads a double.
fn read_double(bytes: &mut &[u8]) -> Option<f64> {
    let (double, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(f64::from_le_bytes(*double))
}

/// Returns whether the runtime is the mean of its repeats, as computed by [`pack`], or the one that is stated beside them.
pub fn is_mean(runtime_ns: f64, count: i32, bytes: Option<&[u8]>) -> bool {
    let Some(form) = RepeatsEncoding::parse(runtime_ns, count, bytes) else {
        return false;
    };
    if matches!(form, RepeatsEncoding::One) {
        return runtime_ns.is_finite();
    }
    let mut costs = Vec::new();
    let unpacked = unpack(runtime_ns, count, bytes, &mut costs);
    if let RepeatsEncoding::Stated(stated_ns) = form {
        return unpacked.is_some() && stated_ns == runtime_ns;
    }
    let packed = unpacked.and_then(|()| pack(&costs));
    packed.is_some_and(|packed| match form {
        // Doubles have lost the last digits of the written values.
        RepeatsEncoding::Raw => (packed.runtime_ns - runtime_ns).abs() <= runtime_ns.abs() * 1e-12,
        _ => packed.runtime_ns == runtime_ns,
    })
}

/// Appends the repeats in nanoseconds to `repeats`. Returns `None` if the columns are inconsistent.
pub fn unpack_ns(
    runtime_ns: f64,
    count: i32,
    bytes: Option<&[u8]>,
    repeats: &mut Vec<f64>,
) -> Option<()> {
    match RepeatsEncoding::parse(runtime_ns, count, bytes)? {
        RepeatsEncoding::One => repeats.push(runtime_ns),
        RepeatsEncoding::Raw | RepeatsEncoding::Stated(_) => {
            let mut costs = Vec::new();
            unpack(runtime_ns, count, bytes, &mut costs)?;
            repeats.extend(costs.into_iter().map(|cost| cost.to_f64(NANO_PLACES)));
        }
        RepeatsEncoding::Differences(packed) => {
            let scale = Scale::new(packed.exponent.checked_add(NANO_PLACES)?);
            packed.for_each(|difference| {
                repeats.push(scale.apply(packed.base.checked_add(difference)?));
                Some(())
            })?;
        }
    }
    Some(())
}

/// Minimum of the repeats in nanoseconds; consistent with [`unpack_ns`].
pub fn minimum_ns(runtime_ns: f64, count: i32, bytes: Option<&[u8]>) -> Option<f64> {
    match RepeatsEncoding::parse(runtime_ns, count, bytes)? {
        RepeatsEncoding::One => Some(runtime_ns),
        RepeatsEncoding::Raw | RepeatsEncoding::Stated(_) => {
            let mut repeats = Vec::new();
            unpack_ns(runtime_ns, count, bytes, &mut repeats)?;
            repeats.into_iter().min_by(f64::total_cmp)
        }
        RepeatsEncoding::Differences(packed) => {
            let mut minimum = i64::MAX;
            packed.for_each(|difference| {
                minimum = minimum.min(difference);
                Some(())
            })?;
            let scale = Scale::new(packed.exponent.checked_add(NANO_PLACES)?);
            Some(scale.apply(packed.base.checked_add(minimum)?))
        }
    }
}

/// Coefficient of variation: standard deviation of the repeats (population form) divided by their mean.
pub fn noise(runtime_ns: f64, count: i32, bytes: Option<&[u8]>) -> Option<f64> {
    match RepeatsEncoding::parse(runtime_ns, count, bytes)? {
        RepeatsEncoding::One => Some(0.0),
        RepeatsEncoding::Differences(packed) if packed.base != 0 => {
            let (mut sum, mut squares) = (0_i64, 0_i64);
            let fits = packed.for_each(|difference| {
                sum = sum.checked_add(difference)?;
                squares = squares.checked_add(difference.checked_mul(difference)?)?;
                Some(())
            });
            if fits.is_none() {
                return noise_of_all(runtime_ns, count, bytes);
            }
            #[expect(clippy::cast_precision_loss, reason = "a few digits")]
            let (sum, squares) = (sum as f64, squares as f64);
            let inverse_count = 1.0 / f64::from(count);
            #[expect(clippy::cast_precision_loss, reason = "a mean")]
            let mean = packed.base as f64 + sum * inverse_count;
            // The differences are from the mean, so the subtraction loses no precision.
            let variance = (squares - sum * sum * inverse_count) * inverse_count;
            Some(variance.max(0.0).sqrt() / mean)
        }
        RepeatsEncoding::Differences(_) | RepeatsEncoding::Raw | RepeatsEncoding::Stated(_) => {
            noise_of_all(runtime_ns, count, bytes)
        }
    }
}

fn noise_of_all(runtime_ns: f64, count: i32, bytes: Option<&[u8]>) -> Option<f64> {
    let mut repeats = Vec::new();
    unpack_ns(runtime_ns, count, bytes, &mut repeats)?;
    Some(stats::coefficient_of_variation(&repeats))
}

/// Encoding of the repeats of a measurement.
enum RepeatsEncoding<'a> {
    /// One repeat, equal to the mean.
    One,
    /// Raw doubles.
    Raw,
    /// Raw doubles beside a stated runtime, in nanoseconds.
    Stated(f64),
    Differences(Differences<'a>),
}

/// Repeats as differences from a base, in units of `10^exponent` s.
struct Differences<'a> {
    exponent: i32,
    /// The rounded mean; 0 for explicit digits.
    base: i64,
    /// Number of repeats in `bytes`.
    stored_count: usize,
    /// Sum of all differences, from which the last one follows. `None` if the last one is stored too.
    sum: Option<i64>,
    bytes: &'a [u8],
}

impl<'a> RepeatsEncoding<'a> {
    #[inline]
    fn parse(runtime_ns: f64, count: i32, bytes: Option<&'a [u8]>) -> Option<Self> {
        let Some(mut bytes) = bytes else {
            return (count == 1).then_some(Self::One);
        };
        let head = varint::read(&mut bytes)?;
        if head == RAW {
            return Some(Self::Raw);
        }
        if head == STATED {
            return read_double(&mut bytes).map(Self::Stated);
        }
        let exponent = i32::try_from(head >> 1).ok()?;
        let stored_count = checked_count(count)?;
        if head & 1 == 1 {
            return Some(Self::Differences(Differences {
                exponent,
                base: 0,
                stored_count,
                sum: None,
                bytes,
            }));
        }
        let count = i64::from(count);
        let total = sum_in_units(runtime_ns, count, exponent)?;
        let base = rounded_mean(total, count);
        Some(Self::Differences(Differences {
            exponent,
            base,
            stored_count: stored_count.checked_sub(1)?,
            sum: Some(total.checked_sub(base.checked_mul(count)?)?),
            bytes,
        }))
    }
}

impl Differences<'_> {
    /// Calls `each` with the differences, in the order of measurement.
    #[inline]
    fn for_each(&self, mut each: impl FnMut(i64) -> Option<()>) -> Option<()> {
        let Some(mut last) = self.sum else {
            return bits::read_each(self.bytes, self.stored_count, each);
        };
        bits::read_each(self.bytes, self.stored_count, |difference| {
            last = last.checked_sub(difference)?;
            each(difference)
        })?;
        each(last)
    }
}

/// Validates a repeat count. Returns `None` if it exceeds [`MAX_REPEATS`].
fn checked_count(count: i32) -> Option<usize> {
    usize::try_from(count).ok().filter(|_| count <= MAX_REPEATS)
}

/// The single repeat with this runtime in nanoseconds.
fn single_repeat(runtime_ns: f64) -> Option<Decimal> {
    let nanoseconds = Decimal::from_f64(runtime_ns)?;
    Some(
        Decimal {
            exponent: nanoseconds.exponent - NANO_PLACES,
            ..nanoseconds
        }
        .trim_zeros(),
    )
}

/// Sum of `count` repeats in units of `10^exponent` s, from their mean.
fn sum_in_units(runtime_ns: f64, count: i64, exponent: i32) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "a repeat count")]
    let total = runtime_ns * count as f64;
    let units = Scale::new(exponent.saturating_add(NANO_PLACES).saturating_neg()).scale(total);
    #[expect(clippy::cast_possible_truncation, reason = "checked to be within 2^53")]
    let rounded = if units.abs() < ROUND_BY_TRUNCATION_LIMIT {
        (units + 0.5_f64.copysign(units)) as i64
    } else {
        units.round() as i64
    };
    (units.abs() < 9e15).then_some(rounded)
}

/// The mean, truncated to an integer.
fn rounded_mean(total: i64, count: i64) -> i64 {
    match (u32::try_from(total), u32::try_from(count)) {
        // A 32-bit division takes half the time.
        (Ok(total), Ok(count)) => i64::from(total.checked_div(count).unwrap_or(0)),
        _ => total.checked_div(count).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;

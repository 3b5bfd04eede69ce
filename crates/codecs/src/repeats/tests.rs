//! Tests of packed repeats.

use super::*;

fn decimals(texts: &[&str]) -> Vec<Decimal> {
    texts
        .iter()
        .map(|text| Decimal::parse(text.as_bytes()).unwrap())
        .collect()
}

fn round_trip(costs: &[Decimal]) -> PackedRepeats {
    let packed = pack(costs).unwrap();
    let mut unpacked = Vec::new();
    let count = i32::try_from(costs.len()).unwrap();
    unpack(
        packed.runtime_ns,
        count,
        packed.bytes.as_deref(),
        &mut unpacked,
    )
    .unwrap();
    assert!(is_mean(packed.runtime_ns, count, packed.bytes.as_deref()));
    assert_eq!(unpacked, costs);
    let mut repeats = Vec::new();
    unpack_ns(
        packed.runtime_ns,
        count,
        packed.bytes.as_deref(),
        &mut repeats,
    )
    .unwrap();
    let nanoseconds: Vec<f64> = costs.iter().map(|cost| cost.to_f64(NANO_PLACES)).collect();
    assert_eq!(repeats, nanoseconds);
    let (runtime_ns, bytes) = (packed.runtime_ns, packed.bytes.as_deref());
    let minimum = nanoseconds.iter().copied().min_by(f64::total_cmp);
    assert_eq!(minimum_ns(runtime_ns, count, bytes), minimum);
    let noise = noise(runtime_ns, count, bytes).unwrap();
    assert!((noise - stats::coefficient_of_variation(&nanoseconds)).abs() < 1e-12 * noise.max(1.0));
    packed
}

#[test]
fn a_runtime_other_than_the_mean_is_marked() {
    for texts in [
        &["0.0136712", "0.0128171", "0.0131435"][..],
        &["1e-5", "3.5e-5"],
    ] {
        let packed = round_trip(&decimals(texts));
        let count = i32::try_from(texts.len()).unwrap();
        // Doubling the runtime would yield a valid mean again.
        for bit in 0..52 {
            let damaged = f64::from_bits(packed.runtime_ns.to_bits() ^ (1 << bit));
            let bytes = packed.bytes.as_deref();
            assert!(!is_mean(damaged, count, bytes), "{texts:?} {bit}");
        }
    }
    assert!(is_mean(5.5, 1, None) && !is_mean(5.5, 2, None) && !is_mean(5.5, 0, None));
}

#[test]
fn a_stated_runtime_is_stored_beside_its_repeats() {
    let costs = decimals(&["0.25", "0.5", "1.5"]);
    let packed = pack_beside(0.5e9, &costs).unwrap();
    let bytes = packed.bytes.as_deref();
    let mut unpacked = Vec::new();
    unpack(packed.runtime_ns, 3, bytes, &mut unpacked).unwrap();
    assert_eq!((packed.runtime_ns, unpacked), (0.5e9, costs));
    assert!(is_mean(0.5e9, 3, bytes));
    assert!(!is_mean(0.75e9, 3, bytes) && !is_mean(0.5e9, 2, bytes));
    assert_eq!(minimum_ns(0.5e9, 3, bytes), Some(0.25e9));
    let cut = bytes.map(|bytes| &bytes[..5]);
    assert!(!is_mean(0.5e9, 3, cut) && minimum_ns(0.5e9, 3, cut).is_none());
    assert_eq!(pack_beside(1.0, &[]), None);
}

#[test]
fn one_repeat_is_its_runtime() {
    let packed = round_trip(&decimals(&["2.34567e-05"]));
    assert_eq!(
        packed,
        PackedRepeats {
            runtime_ns: 23456.7,
            bytes: None
        }
    );
}

#[test]
fn three_repeats_take_two_differences() {
    let packed = round_trip(&decimals(&["0.0136712", "0.0128171", "0.0131435"]));
    assert_eq!(
        packed.runtime_ns.to_bits(),
        (39_631_800.0_f64 / 3.0).to_bits()
    );
    assert_eq!(packed.bytes.unwrap().len(), 1 + 4);
}

#[test]
fn seventeen_digits_are_stored_explicitly() {
    round_trip(&decimals(&[
        "0.00012345678901234567",
        "0.00012345678901234511",
    ]));
    round_trip(&decimals(&["0.12345678901234567"]));
    round_trip(&decimals(&[
        "0.00012345678901234567",
        "0.9876543210987654",
        "12",
    ]));
}

proptest::proptest! {
    #[test]
    fn repeats_come_back_exactly(
        digits in proptest::collection::vec(1_i64..1_000_000, 1..40),
        exponents in proptest::collection::vec(-9_i32..-3, 40),
    ) {
        let costs: Vec<Decimal> = digits.iter().zip(exponents)
            .map(|(&digits, exponent)| Decimal { digits, exponent }.trim_zeros()).collect();
        round_trip(&costs);
    }

    #[test]
    fn no_bytes_make_unpack_panic(runtime in 0.0_f64..1e12, count in 0_i32..50, bytes: Vec<u8>) {
        let _ = unpack(runtime, count, Some(&bytes), &mut Vec::new());
        let _ = unpack_ns(runtime, count, Some(&bytes), &mut Vec::new());
        let _ = (minimum_ns(runtime, count, Some(&bytes)), noise(runtime, count, Some(&bytes)));
    }
}

//! Packed columns, as in a file from an untrusted writer.

use tsql_codecs::layout::Layouts;
use tsql_codecs::repeats;
use tsql_codecs::steps::{self, StepsHasher, StepsNumbers, StepsWriter};
use tsql_codecs::tensors::PackedTensors;
use tsql_codecs::{bits, graph, opgraph, tile, varint};

/// Maximum number of unpacked values per byte, and in addition to that.
const NUMBERS: usize = 64;

/// The first byte selects the column, the next eight the value of its neighbour column.
pub(super) fn columns(bytes: &[u8]) {
    let Some((&[which, beside @ ..], packed)) = bytes.split_first_chunk::<9>() else {
        return;
    };
    let beside = u64::from_le_bytes(beside);
    let nodes = (beside % 100_000) as usize;
    match which % 10 {
        0 => {
            if let Some(values) = bits::read(packed, nodes) {
                let mut again = Vec::new();
                bits::write(&values, &mut again);
                assert_eq!(bits::read(&again, nodes), Some(values));
            }
        }
        1 => of_repeats(f64::from_bits(beside), packed),
        2 => {
            if let Some(row) = graph::unpack_features(packed) {
                let again = graph::pack_features(&row);
                assert_eq!(graph::unpack_features(&again), Some(row));
            }
        }
        3 => {
            if let Some(numbers) = graph::unpack_numbers(packed) {
                let again = graph::pack_numbers(&numbers);
                assert_eq!(graph::unpack_numbers(&again), Some(numbers));
            }
        }
        4 => {
            if let Some(numbers) = graph::unpack_steps(packed) {
                let again = graph::pack_steps(&numbers);
                assert_eq!(graph::unpack_steps(&again), Some(numbers));
            }
        }
        5 => {
            if let Some(edges) = graph::unpack_edges(packed, nodes) {
                assert!(edges.len() <= packed.len() * NUMBERS);
                if edges.iter().all(|&(user, _)| (user as usize) < nodes) {
                    let again = graph::pack_edges(&edges, nodes);
                    assert_eq!(graph::unpack_edges(&again, nodes), Some(edges));
                }
            }
        }
        6 => {
            if let Some(operands) = opgraph::unpack_operands(packed, nodes) {
                assert_eq!(operands.len(), nodes);
                let count = operands.iter().map(Vec::len).sum::<usize>();
                assert!(count <= packed.len() * NUMBERS);
            }
        }
        7 => {
            let _ = opgraph::unpack_returns(packed, nodes);
        }
        8 => {
            let names = "a\nb\nc\n".repeat(nodes % 7);
            let texts = [names.as_str(); PackedTensors::COLUMNS.len()];
            for tensor in PackedTensors::unpack(texts, packed).into_iter().flatten() {
                let _ = (tensor.data.texts(), tensor.data.values());
            }
        }
        _ => {
            let mut rest = packed;
            while varint::read(&mut rest).is_some() && !rest.is_empty() {}
            let mut rest = packed;
            while let Some(number) = varint::read_unsigned(&mut rest) {
                let mut again = Vec::new();
                varint::write_unsigned(number, &mut again);
                assert_eq!(varint::read_unsigned(&mut again.as_slice()), Some(number));
            }
        }
    }
}

/// All functions that read repeats agree on whether they are valid.
fn of_repeats(runtime_ns: f64, packed: &[u8]) {
    let counts = [-1, 0, 1, 2, 3, 7, 300, 100_000, i32::MAX];
    for count in counts {
        for bytes in [None, Some(packed)] {
            let mut repeats_ns = Vec::new();
            let unpacked = repeats::unpack_ns(runtime_ns, count, bytes, &mut repeats_ns);
            let least = repeats::minimum_ns(runtime_ns, count, bytes);
            assert!(unpacked.is_none() || least.is_some() || repeats_ns.is_empty());
            let _ = repeats::noise(runtime_ns, count, bytes);
            let _ = repeats::is_mean(runtime_ns, count, bytes);
        }
    }
}

/// A sketch up to the first line feed, and the parameters after it.
pub(super) fn sketches(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |&byte| byte == b'\n');
    let (Some(sketch), params) = (parts.next(), parts.next()) else {
        return;
    };
    let Ok(sketch) = std::str::from_utf8(sketch) else {
        return;
    };
    let mut text = Vec::new();
    let filled = StepsWriter::default().fill(sketch, params, &mut text);
    let hashed = StepsHasher::default().hash(sketch, params);
    assert_eq!(filled, hashed.is_some());
    if let Some(params) = params {
        let _ = StepsNumbers::default().list(sketch, params);
    }
    let _ = steps::open_sketch(sketch);
    let _ = tile::parse_steps(sketch);
    if let Some(layouts) = Layouts::parse(sketch) {
        assert_eq!(Layouts::parse(&layouts.text()).as_ref(), Some(&layouts));
        let _ = layouts.select_vectors(params.unwrap_or_default());
    }
}

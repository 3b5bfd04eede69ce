//! Column encoding of the weights and inputs of captured graphs: text columns with one line per tensor, and
//! byte planes for listed elements.
//!
//! 4.7 million weight elements are decimals with six places. As integers in byte planes (all low bytes
//! first, then all second bytes) they take two to three bytes each.

mod elements;

pub use elements::TensorData;
use elements::{FIRST_FORM, NumberFormat};

use crate::varint;

/// Metadata of one tensor. Numbers keep their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Name in the graph.
    pub name: String,
    /// Name in the model.
    pub original_name: Option<String>,
    /// Sizes, comma-separated.
    pub shape: Option<String>,
    /// As written in the source: `torch.float32`.
    pub dtype: Option<String>,
    /// As written in the source: `cuda:0`.
    pub device: Option<String>,
    /// Mean of the elements.
    pub mean: Option<String>,
    /// Standard deviation of the elements.
    pub std: Option<String>,
    /// Minimum of the elements.
    pub min_val: Option<String>,
    /// Maximum of the elements.
    pub max_val: Option<String>,
    /// The elements themselves.
    pub data: TensorData,
    /// Attribute names in source order, comma-separated.
    pub keys: String,
    /// Sizes with symbols for dynamic dimensions, if different from `shape`.
    pub symbolic_shape: Option<String>,
}

/// Role of a tensor, from its name: `parameter`, `buffer`, `symint` or `input`.
pub fn tensor_kind(tensor: &Tensor) -> &'static str {
    let name = tensor.name.as_str();
    let number = |prefix| {
        let rest: Option<&str> = name.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if name.contains("_parameters_") || number("parameter_") {
        "parameter"
    } else if name.contains("_buffers_") {
        "buffer"
    } else if number("s") && tensor.shape.as_deref() == Some("") {
        "symint"
    } else {
        "input"
    }
}

/// The sizes of a tensor.
pub fn shape(tensor: &Tensor) -> Option<Vec<i64>> {
    let sizes = tensor.shape.as_deref()?;
    let sizes = sizes.split(',').filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().ok()).collect()
}

/// Product of a tensor's sizes.
pub fn element_count(tensor: &Tensor) -> Option<i64> {
    let sizes = shape(tensor)?;
    sizes.into_iter().try_fold(1_i64, i64::checked_mul)
}

/// Text columns of a sample's tensors, one line per tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedTensors {
    /// In the order of [`PackedTensors::COLUMNS`].
    pub texts: [String; PackedTensors::COLUMNS.len()],
    /// Formats and codes of the elements.
    pub data: Vec<u8>,
}

/// Line for a missing attribute.
const ABSENT: &str = "";

impl PackedTensors {
    /// Columns of `samples` that store the texts.
    pub const COLUMNS: [&str; 12] = [
        "tensor_names",
        "tensor_original_names",
        "tensor_shapes",
        "tensor_dtypes",
        "tensor_devices",
        "tensor_means",
        "tensor_stds",
        "tensor_mins",
        "tensor_maxs",
        "tensor_keys",
        "tensor_symbolic_shapes",
        "tensor_other_data",
    ];

    /// Packs the tensors of a sample.
    pub fn pack(tensors: &[Tensor]) -> Self {
        let mut packed = Self::default();
        for tensor in tensors {
            let other = match &tensor.data {
                TensorData::Other(text) => Some(text),
                _ => None,
            };
            let lines = [
                Some(&tensor.name),
                tensor.original_name.as_ref(),
                tensor.shape.as_ref(),
                tensor.dtype.as_ref(),
                tensor.device.as_ref(),
                tensor.mean.as_ref(),
                tensor.std.as_ref(),
                tensor.min_val.as_ref(),
                tensor.max_val.as_ref(),
                Some(&tensor.keys),
                tensor.symbolic_shape.as_ref(),
                other,
            ];
            for (text, line) in packed.texts.iter_mut().zip(lines) {
                text.push_str(line.map_or(ABSENT, String::as_str));
                text.push('\n');
            }
        }
        // Columns without any value are empty.
        for text in &mut packed.texts {
            if text.bytes().all(|byte| byte == b'\n') {
                text.clear();
            }
        }
        packed.data = pack_data(tensors);
        packed
    }

    /// Undoes [`PackedTensors::pack`]. Returns `None` for malformed input.
    pub fn unpack(texts: [&str; Self::COLUMNS.len()], data: &[u8]) -> Option<Vec<Tensor>> {
        let [names, ..] = texts;
        let mut columns = texts.map(|text| text.split_terminator('\n'));
        let mut data = unpack_data(data)?.into_iter();
        let mut tensors = Vec::new();
        for _ in names.split_terminator('\n') {
            let [
                name,
                original_name,
                shape,
                dtype,
                device,
                mean,
                std,
                min_val,
                max_val,
                keys,
                symbolic_shape,
                other,
            ] = columns.each_mut().map(|lines| {
                let line = lines.next().filter(|line| *line != ABSENT);
                line.map(str::to_owned)
            });
            let keys = keys.unwrap_or_default();
            // A scalar has an empty shape. The keys distinguish it from a missing shape.
            let shape = shape.or_else(|| has_key(&keys, "shape").then(String::new));
            tensors.push(Tensor {
                name: name.unwrap_or_default(),
                original_name,
                shape,
                dtype,
                device,
                mean,
                std,
                min_val,
                max_val,
                keys,
                symbolic_shape,
                data: match data.next()? {
                    TensorData::Other(_) => TensorData::Other(other.unwrap_or_default()),
                    data => data,
                },
            });
        }
        Some(tensors)
    }
}

fn has_key(keys: &str, name: &str) -> bool {
    keys.split(',').any(|key| key == name)
}

/// Packs formats, then codes.
///
/// Formats: 0 absent, 1 unlisted, 2 booleans, 3 other, and from 4 on a [`NumberFormat`], with the element
/// count. Then follow the byte width of the largest code, and all codes as byte planes.
fn pack_data(tensors: &[Tensor]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut codes: Vec<u64> = Vec::new();
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    varint::write_unsigned(count(tensors.len()), &mut packed);
    for tensor in tensors {
        match &tensor.data {
            TensorData::Absent => packed.push(0),
            TensorData::Unlisted => packed.push(1),
            TensorData::Booleans(values) => {
                packed.push(2);
                varint::write_unsigned(count(values.len()), &mut packed);
                codes.extend(values.iter().map(|&value| u64::from(value)));
            }
            TensorData::Other(_) => packed.push(3),
            TensorData::Numbers {
                form,
                codes: tensor_codes,
            } => {
                packed.push(form.number());
                varint::write_unsigned(count(tensor_codes.len()), &mut packed);
                codes.extend(tensor_codes);
            }
        }
    }
    let bits = codes.iter().fold(0, |all, code| all | code);
    let planes = (u64::BITS - bits.leading_zeros()).div_ceil(8);
    packed.push(u8::try_from(planes).unwrap_or(8));
    for plane in 0..planes {
        let byte = |code: &u64| u8::try_from((code >> (8 * plane)) & 0xff).unwrap_or(0);
        packed.extend(codes.iter().map(byte));
    }
    packed
}

/// Maximum number of elements of a sample. Each takes two bytes of a file, and at most 64 MiB of a file are
/// read.
const MAX_ELEMENTS: usize = 1 << 25;

fn unpack_data(mut packed: &[u8]) -> Option<Vec<TensorData>> {
    let count = usize::try_from(varint::read_unsigned(&mut packed)?).ok()?;
    let mut forms = Vec::with_capacity(count.min(packed.len()));
    let mut total = 0_usize;
    for _ in 0..count {
        let (&form, rest) = packed.split_first()?;
        packed = rest;
        let elements = if form == 2 || form >= FIRST_FORM {
            usize::try_from(varint::read_unsigned(&mut packed)?).ok()?
        } else {
            0
        };
        total = total.checked_add(elements)?;
        forms.push((form, elements));
    }
    let (&planes, packed) = packed.split_first()?;
    let bytes = total.checked_mul(usize::from(planes))?;
    // Codes that are all 0 have no planes, so their count must not request unbounded memory.
    if packed.len() != bytes || planes > 8 || total > MAX_ELEMENTS {
        return None;
    }
    let mut codes = vec![0_u64; total];
    for (plane, bytes) in packed.chunks(total.max(1)).enumerate() {
        for (code, &byte) in codes.iter_mut().zip(bytes) {
            *code |= u64::from(byte) << (8 * plane);
        }
    }
    let mut codes = codes.into_iter();
    let data = |(form, elements): (u8, usize)| {
        let mut tensor_codes = codes.by_ref().take(elements);
        Some(match form {
            0 => TensorData::Absent,
            1 => TensorData::Unlisted,
            2 => TensorData::Booleans(tensor_codes.map(|code| code != 0).collect()),
            3 => TensorData::Other(String::new()),
            form => TensorData::Numbers {
                form: NumberFormat::from_number(form)?,
                codes: tensor_codes.by_ref().collect(),
            },
        })
    };
    forms.into_iter().map(data).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_come_back() {
        let tensor = |name: &str, data| Tensor {
            name: name.to_owned(),
            shape: Some("2,3".to_owned()),
            mean: Some("0.500".to_owned()),
            keys: "name,shape,mean,data".to_owned(),
            data,
            ..Tensor::default()
        };
        let mut scalar = tensor("s", TensorData::Absent);
        scalar.shape = Some(String::new());
        scalar.symbolic_shape = Some("S0,3".to_owned());
        let tensors = vec![
            tensor("a", TensorData::parse(&["0.25", "-0.0"])),
            tensor("b", TensorData::Unlisted),
            tensor("c", TensorData::parse(&["True"])),
            tensor("d", TensorData::parse(&["1e999"])),
            tensor("e", TensorData::parse(&["70000", "-1"])),
            scalar,
        ];
        let packed = PackedTensors::pack(&tensors);
        let texts = || packed.texts.each_ref().map(String::as_str);
        assert_eq!(PackedTensors::unpack(texts(), &packed.data), Some(tensors));
        for end in 0..packed.data.len() {
            let truncated = packed.data.get(..end).unwrap();
            assert_eq!(PackedTensors::unpack(texts(), truncated), None, "{end}");
        }
        assert_eq!(PackedTensors::unpack(texts(), &[0xff; 30]), None);
        assert_eq!(PackedTensors::pack(&[]).data, [0, 0]);
    }
}

//! Operations that push a value without using the stack.

use super::error::Error;
use super::input::PickleInput;
use super::text;
use super::value::Value;

/// Reads the value that an operation pushes; `None` for operations that use the stack.
pub(super) fn read_scalar(
    operation: u8,
    input: &mut PickleInput<'_>,
) -> Result<Option<Value>, Error> {
    Ok(Some(match operation {
        // NONE, NEWTRUE, NEWFALSE
        b'N' => Value::None,
        0x88 => Value::Bool(true),
        0x89 => Value::Bool(false),
        // EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT, EMPTY_SET
        b']' => Value::List(Vec::new()),
        b')' => Value::Tuple(Box::default()),
        b'}' => Value::Dict(Vec::new()),
        0x8f => Value::Set(Vec::new()),
        // INT, LONG, FLOAT
        b'I' | b'L' | b'F' => read_text_number(operation, input)?,
        // BININT, BININT1, BININT2
        b'J' => Value::Int(i32::from_le_bytes(input.read_array()?).into()),
        b'K' => Value::Int(input.read_byte()?.into()),
        b'M' => Value::Int(u16::from_le_bytes(input.read_array()?).into()),
        // LONG1, LONG4
        0x8a => {
            let length = input.read_length1()?;
            decode_long(input.take(length)?)
        }
        0x8b => {
            let length = input.read_signed_length4()?;
            decode_long(input.take(length)?)
        }
        // BINFLOAT
        b'G' => Value::Float(f64::from_be_bytes(input.read_array()?)),
        // STRING, BINSTRING, SHORT_BINSTRING
        b'S' => {
            let bytes = text::unquote(input.read_line()?);
            let bytes = bytes.ok_or_else(|| input.error("text that is not quoted correctly"))?;
            decode_string(&bytes)
        }
        b'T' => {
            let length = input.read_signed_length4()?;
            decode_string(input.take(length)?)
        }
        b'U' => {
            let length = input.read_length1()?;
            decode_string(input.take(length)?)
        }
        // UNICODE, SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
        b'V' => {
            let text = text::decode_raw_unicode(input.read_line()?);
            let text = text.ok_or_else(|| input.error("an escape that is not a character"))?;
            Value::Text(text.into())
        }
        0x8c | b'X' | 0x8d => {
            let length = read_length(operation, input)?;
            let bytes = input.take(length)?;
            let text = std::str::from_utf8(bytes);
            Value::Text(
                text.map_err(|_| input.error("text that is not UTF-8"))?
                    .into(),
            )
        }
        // SHORT_BINBYTES, BINBYTES, BINBYTES8
        b'C' | b'B' | 0x8e => {
            let length = read_length(operation, input)?;
            Value::Bytes(input.take(length)?.into())
        }
        // BYTEARRAY8
        0x96 => {
            let length = input.read_length8()?;
            Value::ByteArray(input.take(length)?.into())
        }
        _ => return Ok(None),
    }))
}

/// Reads the length of text or bytes.
fn read_length(operation: u8, input: &mut PickleInput<'_>) -> Result<u64, Error> {
    match operation {
        0x8c | b'C' => input.read_length1(),
        0x8d | 0x8e => input.read_length8(),
        _ => input.read_length4(),
    }
}

/// Reads a number from its own line.
fn read_text_number(operation: u8, input: &mut PickleInput<'_>) -> Result<Value, Error> {
    let line = input.read_ascii_line()?.trim();
    let value = match (operation, line) {
        (b'I', "00") => Some(Value::Bool(false)),
        (b'I', "01") => Some(Value::Bool(true)),
        (b'F', _) => line.parse().ok().map(Value::Float),
        (b'L', _) => text::parse_integer(line.strip_suffix('L').unwrap_or(line)),
        _ => text::parse_integer(line),
    };
    value.ok_or_else(|| input.error("a line that is not a number"))
}

/// Decodes an integer of any size: two's complement, little-endian.
fn decode_long(bytes: &[u8]) -> Value {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if is_negative { 0xff } else { 0 };
    let mut low = [fill; 8];
    let copied = bytes.len().min(low.len());
    for (target, source) in low.iter_mut().zip(bytes) {
        *target = *source;
    }
    let number = i64::from_le_bytes(low);
    let high_bytes = bytes.get(copied..).unwrap_or_default();
    if high_bytes.iter().all(|&byte| byte == fill) && (number < 0) == is_negative {
        Value::Int(number)
    } else {
        Value::Wide(bytes.into())
    }
}

/// Decodes a Python 2 string, which is text in most cases.
fn decode_string(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.into()),
        Err(_) => Value::Bytes(bytes.into()),
    }
}

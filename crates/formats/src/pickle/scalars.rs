//! Operations that push a value and look at nothing else.

use super::error::Error;
use super::input::Input;
use super::text;
use super::value::Value;

/// The value that an operation pushes; `None` where it is one of those that look at the stack.
pub(super) fn scalar(operation: u8, input: &mut Input<'_>) -> Result<Option<Value>, Error> {
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
        b'I' | b'L' | b'F' => number_in_text(operation, input)?,
        // BININT, BININT1, BININT2
        b'J' => Value::Int(i32::from_le_bytes(input.array()?).into()),
        b'K' => Value::Int(input.byte()?.into()),
        b'M' => Value::Int(u16::from_le_bytes(input.array()?).into()),
        // LONG1, LONG4
        0x8a => {
            let length = input.length1()?;
            long(input.take(length)?)
        }
        0x8b => {
            let length = input.signed_length4()?;
            long(input.take(length)?)
        }
        // BINFLOAT
        b'G' => Value::Float(f64::from_be_bytes(input.array()?)),
        // STRING, BINSTRING, SHORT_BINSTRING
        b'S' => {
            let bytes = text::quoted(input.line()?);
            let bytes = bytes.ok_or_else(|| input.error("text that is not quoted as it should"))?;
            string(&bytes)
        }
        b'T' => {
            let length = input.signed_length4()?;
            string(input.take(length)?)
        }
        b'U' => {
            let length = input.length1()?;
            string(input.take(length)?)
        }
        // UNICODE, SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
        b'V' => {
            let text = text::raw_unicode(input.line()?);
            let text = text.ok_or_else(|| input.error("an escape that is no character"))?;
            Value::Text(text.into())
        }
        0x8c | b'X' | 0x8d => {
            let length = length(operation, input)?;
            let bytes = input.take(length)?;
            let text = std::str::from_utf8(bytes);
            Value::Text(
                text.map_err(|_| input.error("text that is not UTF-8"))?
                    .into(),
            )
        }
        // SHORT_BINBYTES, BINBYTES, BINBYTES8
        b'C' | b'B' | 0x8e => {
            let length = length(operation, input)?;
            Value::Bytes(input.take(length)?.into())
        }
        // BYTEARRAY8
        0x96 => {
            let length = input.length8()?;
            Value::ByteArray(input.take(length)?.into())
        }
        _ => return Ok(None),
    }))
}

/// The length of text or bytes.
fn length(operation: u8, input: &mut Input<'_>) -> Result<u64, Error> {
    match operation {
        0x8c | b'C' => input.length1(),
        0x8d | 0x8e => input.length8(),
        _ => input.length4(),
    }
}

/// A number on a line of its own.
fn number_in_text(operation: u8, input: &mut Input<'_>) -> Result<Value, Error> {
    let line = input.ascii_line()?.trim();
    let value = match (operation, line) {
        (b'I', "00") => Some(Value::Bool(false)),
        (b'I', "01") => Some(Value::Bool(true)),
        (b'F', _) => line.parse().ok().map(Value::Float),
        (b'L', _) => text::whole(line.strip_suffix('L').unwrap_or(line)),
        _ => text::whole(line),
    };
    value.ok_or_else(|| input.error("a line that should be a number is none"))
}

/// A whole number of any size: two's complement, the lowest byte first.
fn long(bytes: &[u8]) -> Value {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let mut low = [fill; 8];
    let kept = bytes.len().min(low.len());
    for (to, from) in low.iter_mut().zip(bytes) {
        *to = *from;
    }
    let number = i64::from_le_bytes(low);
    let above = bytes.get(kept..).unwrap_or_default();
    if above.iter().all(|&byte| byte == fill) && (number < 0) == negative {
        Value::Int(number)
    } else {
        Value::Wide(bytes.into())
    }
}

/// Bytes of Python 2, which are mostly text.
fn string(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::Text(text.into()),
        Err(_) => Value::Bytes(bytes.into()),
    }
}

//! Numbers that all programs of a sketch have in common.

use crate::number::write_integer;
use crate::varint;

/// The numbers of a program, and for each whether it is equal in all other programs of the sketch.
#[derive(Clone, Debug)]
pub struct CommonNumbers {
    numbers: Vec<i64>,
    is_shared: Vec<bool>,
}

impl CommonNumbers {
    /// Starts with the packed numbers of one program. Returns `None` for malformed input.
    pub fn from_params(mut params: &[u8]) -> Option<Self> {
        let mut numbers = Vec::with_capacity(params.len());
        while !params.is_empty() {
            numbers.push(varint::read_unsigned(&mut params)?);
        }
        let is_shared = vec![true; numbers.len()];
        Some(Self { numbers, is_shared })
    }

    /// Adds the packed numbers of another program. Returns false for malformed input.
    #[must_use]
    pub fn add(&mut self, mut params: &[u8]) -> bool {
        for (&number, is_shared) in self.numbers.iter().zip(&mut self.is_shared) {
            if params.is_empty() {
                *is_shared = false;
                continue;
            }
            match varint::read_unsigned(&mut params) {
                Some(other) => *is_shared &= other == number,
                None => return false,
            }
        }
        while !params.is_empty() {
            if varint::read_unsigned(&mut params).is_none() {
                return false;
            }
        }
        true
    }

    /// Writes the common numbers into `sketch`.
    pub fn specialise(&self, sketch: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(sketch.len());
        let mut holes = self.numbers.iter().zip(&self.is_shared);
        for &byte in sketch {
            match byte {
                b'?' => match holes.next() {
                    Some((&number, true)) => write_integer(number, &mut out),
                    _ => out.push(b'?'),
                },
                _ => out.push(byte),
            }
        }
        out
    }

    /// Appends the packed numbers that stay open to `out`.
    pub fn push_open(&self, params: &[u8], out: &mut Vec<u8>) {
        let mut shared = self.is_shared.iter();
        let numbers = params.split_inclusive(|byte| byte & 0x80 == 0);
        for number in numbers.filter(|_| shared.next() != Some(&true)) {
            out.extend_from_slice(number);
        }
    }
}

//! Files that are delivered to others into a folder or a bucket: all of them, or nothing that is taken for them.

mod checksums;

mod hashed;
mod outside;
mod place;

pub(crate) use checksums::{NAME as CHECKSUMS, parse};
pub(crate) use hashed::hashed;
pub(crate) use outside::check_outside;
pub(crate) use place::{Kind, Target, Written, is_broken_off, listed};

//! Prints how many seconds two libraries need to inflate every array of the given npz files, on one
//! thread, and how many bytes that are: `bytes N`, `zlib-rs SECONDS` (streamed in pieces of 256 kB
//! that stay in the cache, nothing is kept) and `libdeflate SECONDS` (whole arrays at once, which
//! needs as much memory as they have bytes). Files are read before.

use std::hint::black_box;
use std::io::{Cursor, Read};
use std::time::Instant;

/// Compressed bytes of an array and how many they become.
fn arrays(path: &str) -> Vec<(Vec<u8>, usize)> {
    let file = std::fs::read(path).expect("a readable file");
    let mut zip = zip::ZipArchive::new(Cursor::new(file)).expect("a zip file");
    let count = zip.len();
    let read = |index| {
        let mut member = zip.by_index_raw(index).expect("an array");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("its bytes");
        (bytes, usize::try_from(member.size()).expect("a size"))
    };
    (0..count).map(read).collect()
}

fn main() {
    let arrays: Vec<_> = std::env::args().skip(1).flat_map(|path| arrays(&path)).collect();
    println!("bytes {}", arrays.iter().map(|(_, size)| size).sum::<usize>());

    let start = Instant::now();
    let mut piece = vec![0; 256 << 10];
    for (bytes, size) in &arrays {
        let mut stream = flate2::read::DeflateDecoder::new(bytes.as_slice());
        let mut left = *size;
        while left > 0 {
            left -= stream.read(&mut piece).expect("sound data");
            black_box(&piece);
        }
    }
    println!("zlib-rs {}", start.elapsed().as_secs_f64());

    let largest = arrays.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let mut whole = vec![1; largest];
    let mut inflater = libdeflater::Decompressor::new();
    let start = Instant::now();
    for (bytes, size) in &arrays {
        let target = &mut whole[..*size];
        inflater.deflate_decompress(bytes, target).expect("sound data");
        black_box(&whole);
    }
    println!("libdeflate {}", start.elapsed().as_secs_f64());
}

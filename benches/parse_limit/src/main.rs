//! Prints how many seconds two JSON parsers need to parse every line of the given files into a
//! document, on one thread, as `sonic-rs SECONDS` and `simd-json SECONDS`. Files are read before.

use std::hint::black_box;
use std::time::Instant;

fn main() {
    let files: Vec<Vec<u8>> =
        std::env::args().skip(1).map(|path| std::fs::read(path).expect("a readable file")).collect();
    let lines = || files.iter().flat_map(|file| file.split(|&byte| byte == b'\n'));
    let records = || lines().filter(|line| line.first() == Some(&b'{'));

    let start = Instant::now();
    for line in records() {
        black_box(sonic_rs::from_slice::<sonic_rs::Value>(line).expect("valid JSON"));
    }
    println!("sonic-rs {}", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut copy = Vec::new();
    for line in records() {
        copy.clear();
        copy.extend_from_slice(line);
        black_box(simd_json::to_borrowed_value(&mut copy).expect("valid JSON"));
    }
    println!("simd-json {}", start.elapsed().as_secs_f64());
}

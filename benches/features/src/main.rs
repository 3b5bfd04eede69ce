//! Reads lines of transform steps, and prints programs a second of `tlp_tokens` and `schedule_numbers`, each with so many threads,
//! written after each other into a block of 8,192 rows as SQL does it.
//!
//! `features llvm|cuda THREADS ROUNDS FILE`

use std::hint::black_box;
use std::time::Instant;

use tsql_codecs::schedule::{Target, WIDTH, numbers, tokens};

const BLOCK_ROWS: usize = 8192;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, threads, rounds, file] = &words[..] else {
        panic!("features llvm|cuda THREADS ROUNDS FILE");
    };
    let target = Target::from_name(kind).expect("llvm or cuda");
    let threads: usize = threads.parse().expect("threads");
    let rounds: usize = rounds.parse().expect("rounds");
    let text = std::fs::read_to_string(file).expect("a readable file");
    let lines: Vec<&str> = text.lines().collect();
    let (steps, width) = target.shape();
    let of_tokens = |line: &str, row: &mut [i32]| tokens(line, target, row);
    let rate = timed(&lines, threads, rounds, steps * width, 0_i32, &of_tokens);
    println!("tlp_tokens {rate:.0}");
    let rate = timed(&lines, threads, rounds, WIDTH, 0_f32, &numbers);
    println!("schedule_numbers {rate:.0}");
}

/// Programs a second: all lines so often by each thread, whichever ends last.
fn timed<T: Copy + Send + Sync>(
    lines: &[&str],
    threads: usize,
    rounds: usize,
    width: usize,
    zero: T,
    write: &(impl Fn(&str, &mut [T]) -> Option<()> + Sync),
) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    for block in lines.chunks(BLOCK_ROWS) {
                        let mut rows = vec![zero; block.len() * width];
                        for (line, row) in block.iter().zip(rows.chunks_exact_mut(width)) {
                            write(line, row).expect("steps of TVM's auto_scheduler");
                        }
                        black_box(rows);
                    }
                }
            });
        }
    });
    (lines.len() * rounds * threads) as f64 / start.elapsed().as_secs_f64()
}

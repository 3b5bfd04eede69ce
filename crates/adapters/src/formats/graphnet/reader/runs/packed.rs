//! Packs the text of a log as columns of its runs.

use tsql_formats::graphnet::log::Run;
use tsql_formats::graphnet::log::lines::{RunColumns, pack, unpack};

/// Packs the parts of `log` that the columns of its runs do not restore.
///
/// Covers the runs from index `first` on and the log from byte `start` on, which is in line `first_line`.
/// Returns `None` if the columns do not restore the log, or if two runs start on the same line.
pub(super) fn pack_runs(
    runs: &[Run],
    first: usize,
    log: &[u8],
    start: usize,
    first_line: u64,
) -> Option<Vec<Vec<u8>>> {
    let (known, new) = runs.split_at_checked(first)?;
    let after_known = known.iter().all(|run| run.line < first_line);
    let rising = new.iter().zip(new.iter().skip(1));
    let mut rising = rising.map(|(one, next)| one.line < next.line);
    if !after_known || new.first()?.line < first_line || !rising.all(|rising| rising) {
        return None;
    }
    let mut ends = memchr::memchr_iter(b'\n', log);
    let mut line = 1;
    let mut starts = Vec::with_capacity(new.len() + 1);
    for run in new {
        let skipped = usize::try_from(run.line - line).ok()?;
        let at = match skipped.checked_sub(1) {
            None => starts.last().copied().unwrap_or(0),
            Some(skipped) => ends.nth(skipped)? + 1,
        };
        line = run.line;
        starts.push(at.max(start));
    }
    // Text before the first run belongs to it.
    *starts.first_mut()? = start;
    starts.push(log.len());
    let texts = starts.iter().zip(starts.iter().skip(1));
    let packed = new.iter().zip(texts).map(|(run, (&from, &to))| {
        let (said, text) = (RunColumns::from_run(run), log.get(from..to)?);
        let packed = pack(&said, text);
        (unpack(&said, &packed)? == text).then_some(packed)
    });
    packed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsql_formats::graphnet::log::LogParser;

    const LOG: &str = "noise\nlog [Processing] /s/a\nlog [Config] device: cuda\n\
                       log [Processing] /s/b\r\nlog [Speedup][e2e]: 1.25000\nlast";

    fn parse_runs(log: &[u8]) -> Vec<Run> {
        let mut parser = LogParser::new();
        for line in log.split_inclusive(|&byte| byte == b'\n') {
            parser.push_line(line);
        }
        parser.finish()
    }

    #[test]
    fn every_byte_goes_with_a_run() {
        let log = LOG.as_bytes();
        let all = parse_runs(log);
        let back = |first: usize, start: usize, line: u64| {
            let packed = pack_runs(&all, first, log, start, line)?;
            let texts = all.iter().skip(first).zip(&packed);
            let texts =
                texts.map(|(run, packed)| unpack(&RunColumns::from_run(run), packed).unwrap());
            Some(texts.flatten().collect::<Vec<u8>>())
        };
        assert_eq!(back(0, 0, 1).as_deref(), Some(log));
        // A log that has grown, including growth in the middle of a line.
        let second = LOG.find("log [Processing] /s/b").unwrap();
        for start in [second - 5, second, second + 3] {
            assert_eq!(back(1, start, 4).as_deref(), log.get(start..), "{start}");
        }
        // No new run, or runs on both sides of a line.
        assert_eq!(back(2, second, 4), None);
        assert_eq!(back(1, second, 5), None);
        assert_eq!(back(1, second, 2), None);
        let both = b"log [Processing] /a\rlog [Processing] /b\n";
        assert_eq!(pack_runs(&parse_runs(both), 0, both, 0, 1), None);
    }
    const REAL: &str = include_str!("../../../../../../../data/graphnet/logs/run.log");

    fn round_trip(log: &[u8]) -> Option<Vec<u8>> {
        let all = parse_runs(log);
        let packed = pack_runs(&all, 0, log, 0, 1)?;
        let texts = all.iter().zip(&packed);
        let texts = texts.map(|(run, packed)| unpack(&RunColumns::from_run(run), packed).unwrap());
        Some(texts.flatten().collect())
    }

    #[test]
    fn values_of_columns_are_not_stored_twice() {
        let all = parse_runs(REAL.as_bytes());
        let packed = pack_runs(&all, 0, REAL.as_bytes(), 0, 1).unwrap();
        assert_eq!(
            round_trip(REAL.as_bytes()).as_deref(),
            Some(REAL.as_bytes())
        );
        let kept: usize = packed.iter().map(Vec::len).sum();
        assert!(kept * 8 < REAL.len(), "{kept} of {}", REAL.len());
        // Another line ending costs nothing.
        let other = REAL.replace('\n', "\r\n");
        let again = pack_runs(&parse_runs(other.as_bytes()), 0, other.as_bytes(), 0, 1).unwrap();
        let again: usize = again.iter().map(Vec::len).sum();
        assert!(again < kept + 100, "{again} {kept}");
    }

    proptest::proptest! {
        #[test]
        fn mutated_logs_come_back(
            hows in proptest::collection::vec((0_u8..6, 0_usize..10_000, 0_u8..=255), 1..20),
        ) {
            let mut lines: Vec<Vec<u8>> =
                REAL.as_bytes().split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            for (how, place, byte) in hows {
                let at = place % lines.len();
                let end = lines[at].len();
                match how {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, lines[at].clone()),
                    2 => lines.swap(at, place / 7 % end.min(2)),
                    3 => lines[at][place % end] = byte,
                    4 => lines[at].splice(end - 1.., *b"\r\n").for_each(drop),
                    _ => lines[at].splice(..0, *b"W1111 noise] ").for_each(drop),
                }
                if lines.iter().any(Vec::is_empty) {
                    lines.retain(|line| !line.is_empty());
                }
            }
            let log = lines.concat();
            if let Some(text) = round_trip(&log) {
                proptest::prop_assert!(text == log);
            }
        }

        #[test]
        fn damage_is_no_panic(place in 0_usize..100_000, byte: u8) {
            let all = parse_runs(REAL.as_bytes());
            let packed = pack_runs(&all, 0, REAL.as_bytes(), 0, 1).unwrap();
            for (run, mut packed) in all.iter().zip(packed) {
                let place = place % packed.len();
                packed[place] = byte;
                let _ = unpack(&RunColumns::from_run(run), &packed);
            }
        }
    }
}

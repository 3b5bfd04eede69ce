//! Cuts a live input into commit batches, limited by lines, bytes or time.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Length after which an unfinished line is passed on, in bytes.
const LONG_BYTES: usize = 1 << 20;

/// Interval for checking the stop flag.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Limits of a commit batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// Time since its first line.
    pub(super) time: Duration,
}

/// A message from the producer.
#[derive(Debug)]
pub(super) enum StreamMessage {
    /// Bytes of lines.
    Bytes(Vec<u8>),
    /// Commit everything sent so far.
    Flush,
    /// The input failed.
    Failed(io::Error),
}

/// Complete lines of a live input, one batch after the other. Reading ends at the limits of a batch.
/// [`GroupedInput::next_group`] starts the next one.
pub(super) struct GroupedInput {
    input: Receiver<StreamMessage>,
    limits: Limits,
    /// Stop flag.
    stop: Arc<AtomicBool>,
    /// Bytes that were received but not yet read.
    held: Vec<u8>,
    /// Number of bytes of `held` in complete lines.
    whole: usize,
    /// The last byte that was read is inside a line.
    in_line: bool,
    begun: Option<Instant>,
    lines: u64,
    bytes: u64,
    flush: bool,
    over: bool,
    ended: bool,
    failure: Option<io::Error>,
}

impl GroupedInput {
    pub(super) fn new(
        input: Receiver<StreamMessage>,
        limits: Limits,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            input,
            limits,
            stop,
            held: Vec::new(),
            whole: 0,
            in_line: false,
            begun: None,
            lines: 0,
            bytes: 0,
            flush: false,
            over: false,
            ended: false,
            failure: None,
        }
    }

    /// Consumes the first `count` bytes of the input, in pieces. Returns how many there were.
    pub(super) fn skip(&mut self, count: u64, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            if self.held.is_empty() && !self.receive(None) {
                break;
            }
            let taken = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(self.held.len());
            let rest = self.held.split_off(taken);
            each(&self.held);
            self.held = rest;
            left -= taken as u64;
        }
        self.count_whole();
        self.failure.take().map_or(Ok(count - left), Err)
    }

    /// Returns bytes to the front of the input.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        let rest = std::mem::replace(&mut self.held, bytes);
        self.held.extend_from_slice(&rest);
        self.count_whole();
    }

    /// Waits for input. Returns false at the end.
    pub(super) fn next_group(&mut self) -> bool {
        self.begun = None;
        (self.lines, self.bytes) = (0, 0);
        self.over = false;
        while self.held.is_empty() && !self.ended {
            self.flush = false;
            self.receive(None);
        }
        !self.held.is_empty() || self.failure.is_some()
    }

    /// Number of lines of the current batch.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Receives a message from the producer. Returns false at the end and at the deadline.
    fn receive(&mut self, deadline: Option<Instant>) -> bool {
        let handed = loop {
            if self.stop.load(Ordering::Relaxed) {
                // An unfinished line is sent again when the stream resumes.
                self.held.truncate(self.whole);
                self.ended = true;
                return false;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let wait = left.map_or(STOP_CHECK_INTERVAL, |left| left.min(STOP_CHECK_INTERVAL));
            match self.input.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) if left.is_none_or(|left| left > wait) => {}
                handed => break handed,
            }
        };
        match handed {
            Ok(StreamMessage::Bytes(bytes)) => {
                self.held.extend_from_slice(&bytes);
                if let Some(end) = memchr::memrchr(b'\n', &bytes) {
                    self.whole = self.held.len() - bytes.len() + end + 1;
                }
                true
            }
            Ok(StreamMessage::Flush) => {
                self.flush = true;
                true
            }
            Ok(StreamMessage::Failed(error)) => {
                self.failure = Some(error);
                self.ended = true;
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                false
            }
        }
    }

    fn count_whole(&mut self) {
        self.whole = memchr::memrchr(b'\n', &self.held).map_or(0, |end| end + 1);
    }

    /// Returns whether the batch has reached a limit.
    fn is_full(&self) -> bool {
        let late = self
            .begun
            .is_some_and(|begun| begun.elapsed() >= self.limits.time);
        late || self.lines >= self.limits.lines || self.bytes >= self.limits.bytes
    }

    /// Copies the first buffered bytes to `target`.
    fn copy_out(&mut self, target: &mut [u8], count: usize) -> usize {
        let mut count = count.min(target.len());
        let given = self.held.get(..count).unwrap_or(&[]);
        let room = self.limits.lines.saturating_sub(self.lines);
        let last = usize::try_from(room)
            .unwrap_or(usize::MAX)
            .saturating_sub(1);
        if let Some(end) = memchr::memchr_iter(b'\n', given).nth(last) {
            count = end + 1;
        }
        let rest = self.held.split_off(count);
        if let Some(target) = target.get_mut(..count) {
            target.copy_from_slice(&self.held);
        }
        self.lines += memchr::memchr_iter(b'\n', &self.held).count() as u64;
        self.bytes += count as u64;
        self.in_line = self.held.last().is_some_and(|&byte| byte != b'\n');
        self.begun.get_or_insert_with(Instant::now);
        self.held = rest;
        self.whole = self.whole.saturating_sub(count);
        count
    }
}

impl Read for GroupedInput {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.over {
                return Ok(0);
            }
            if !self.in_line && self.is_full() {
                self.over = true;
                return Ok(0);
            }
            if self.whole > 0 {
                return Ok(self.copy_out(target, self.whole));
            }
            if self.ended || self.held.len() > LONG_BYTES {
                if let Some(error) = self.failure.take() {
                    return Err(error);
                }
                if self.held.is_empty() {
                    self.over = true;
                    return Ok(0);
                }
                return Ok(self.copy_out(target, self.held.len()));
            }
            let wanted = self.flush && !self.in_line && self.lines > 0;
            if wanted {
                self.flush = false;
                self.over = true;
                return Ok(0);
            }
            let begun = self.begun.filter(|_| !self.in_line);
            let deadline = begun.map(|begun| begun + self.limits.time);
            self.receive(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn groups(handed: Vec<StreamMessage>, limits: Limits) -> Vec<String> {
        let (sender, input) = channel();
        handed
            .into_iter()
            .for_each(|handed| sender.send(handed).unwrap());
        drop(sender);
        let mut paced = GroupedInput::new(input, limits, Arc::default());
        let mut groups = Vec::new();
        while paced.next_group() {
            let mut text = String::new();
            paced.read_to_string(&mut text).unwrap();
            groups.push(text);
        }
        groups
    }

    fn bytes(text: &str) -> StreamMessage {
        StreamMessage::Bytes(text.as_bytes().to_vec())
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn groups_end_with_a_line() {
        let handed = vec![bytes("a\nb"), bytes("b\ncc\nd"), bytes("\ne\nf")];
        let limits = Limits {
            lines: 2,
            bytes: 1 << 20,
            time: HOUR,
        };
        assert_eq!(groups(handed, limits), ["a\nbb\n", "cc\nd\n", "e\nf"]);
    }

    #[test]
    fn flush_ends_a_group() {
        let handed = vec![
            bytes("a\nb\n"),
            StreamMessage::Flush,
            bytes("c\n"),
            StreamMessage::Flush,
            StreamMessage::Flush,
        ];
        let limits = Limits {
            lines: 100,
            bytes: 1 << 20,
            time: HOUR,
        };
        assert_eq!(groups(handed, limits), ["a\nb\n", "c\n"]);
    }

    #[test]
    fn time_ends_a_group() {
        let (sender, input) = channel();
        let limits = Limits {
            lines: 100,
            bytes: 1 << 20,
            time: Duration::from_millis(20),
        };
        let mut paced = GroupedInput::new(input, limits, Arc::default());
        sender.send(bytes("a\nhal")).unwrap();
        assert!(paced.next_group());
        let mut text = String::new();
        paced.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\n");
        sender.send(bytes("f\n")).unwrap();
        drop(sender);
        assert!(paced.next_group());
        text.clear();
        paced.read_to_string(&mut text).unwrap();
        assert_eq!(text, "half\n");
        assert!(!paced.next_group());
    }

    #[test]
    fn what_is_whole_is_given_when_no_more_is_wanted() {
        let (sender, input) = channel();
        let limits = Limits {
            lines: 100,
            bytes: 1 << 20,
            time: HOUR,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut paced = GroupedInput::new(input, limits, Arc::clone(&stop));
        sender.send(bytes("a\nb\nhal")).unwrap();
        assert!(paced.next_group());
        stop.store(true, Ordering::Relaxed);
        let mut text = String::new();
        paced.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb\n");
        assert!(!paced.next_group());
    }
}

//! The user's pager for results that are longer than the screen, such as `less`.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Variables with the command of the pager; the first that is set counts.
const VARIABLES: [&str; 2] = ["TSQL_PAGER", "PAGER"];

/// Options of `less`, unless the user has set them: exit if the text fits the screen (F), show colors (R), cut long
/// lines (S), and leave the text on the screen (X).
const LESS: (&str, &str) = ("LESS", "FRSX");

/// Set while a pager controls the terminal.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Returns whether a pager controls the terminal, and therefore gets Ctrl-C.
pub(super) fn is_open() -> bool {
    OPEN.load(Ordering::Relaxed)
}

/// Returns the command of the user's pager, if there is one.
pub(super) fn command() -> Option<String> {
    let set = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    set.filter(|command| !command.trim().is_empty())
}

/// Text that goes to `out` if it is short, and to a pager once it is longer than the screen.
pub(super) struct Paged<W: Write> {
    out: W,
    command: String,
    lines: usize,
    line_count: usize,
    waiting: Vec<u8>,
    child: Option<Child>,
}

impl<W: Write> Paged<W> {
    /// Creates a writer for a screen of `lines` lines.
    pub(super) fn new(out: W, command: String, lines: usize) -> Self {
        Self {
            out,
            command,
            lines,
            line_count: 0,
            waiting: Vec::new(),
            child: None,
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).stdin(Stdio::piped());
        if std::env::var_os(LESS.0).is_none() {
            command.env(LESS.0, LESS.1);
        }
        self.child = Some(command.spawn()?);
        OPEN.store(true, Ordering::Relaxed);
        let waiting = std::mem::take(&mut self.waiting);
        self.write_all(&waiting)
    }

    /// Writes the buffered text, or waits until the user leaves the pager.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            self.out.write_all(&std::mem::take(&mut self.waiting))?;
            return self.out.flush();
        };
        drop(child.stdin.take());
        let status = child.wait();
        OPEN.store(false, Ordering::Relaxed);
        status.map(|_| ())
    }
}

impl<W: Write> Write for Paged<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(input) = self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            return input.write(bytes);
        }
        self.waiting.extend_from_slice(bytes);
        self.line_count += memchr::memchr_iter(b'\n', bytes).count();
        if self.line_count >= self.lines {
            self.start()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(input) => input.flush(),
            None => Ok(()),
        }
    }
}

impl<W: Write> Drop for Paged<W> {
    /// Waits for the pager after a failure too, because it controls the terminal until the user leaves it.
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_longer_than_the_screen_is_paged() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let command = || format!("cat > {}", seen.display());
        let mut out = Vec::new();
        let mut paged = Paged::new(&mut out, command(), 3);
        paged.write_all(b"1\n2\n").unwrap();
        paged.finish().unwrap();
        drop(paged);
        assert_eq!((out.as_slice(), seen.exists()), (&b"1\n2\n"[..], false));
        let mut paged = Paged::new(&mut out, command(), 3);
        paged.write_all(b"1\n2\n").unwrap();
        paged.write_all(b"3\n4\n").unwrap();
        paged.finish().unwrap();
        drop(paged);
        assert_eq!(out, b"1\n2\n");
        assert_eq!(std::fs::read(seen).unwrap(), b"1\n2\n3\n4\n");
    }

    #[test]
    fn a_pager_that_is_left_closes_its_pipe() {
        let mut paged = Paged::new(Vec::new(), "true".to_owned(), 1);
        let line = vec![b'\n'; 1 << 20];
        let error = (0..10).find_map(|_| paged.write_all(&line).err());
        assert_eq!(error.unwrap().kind(), io::ErrorKind::BrokenPipe);
        paged.finish().unwrap();
    }
}

"""A terminal for a command: keys in, screen contents out.

    terminal.py COLUMNS ROWS COMMAND [ARGUMENT ...]

Reads one JSON object per line, and responds to each with one. {"keys": TEXT} types text. The following requests wait at
most N seconds:

- {"until": TEXT, "seconds": N}: until the screen shows the text.
- {"typed": TEXT, "seconds": N}: until the screen shows typed text, which may continue in the next line.
- {"prompt": TEXT, "seconds": N}: until the cursor is behind a prompt at the beginning of its line.
- {"end": N}: until the command ends.
- {"wait": N}: for the whole time.

{} only returns the state. A response has the lines of the screen, the line of the cursor, whether the condition was
reached, the exit code, the colors of the screen, the process of the command, and whether the terminal echoes. With
IGNORES_HANGUP in the environment the command starts as under `nohup`.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte


class Screen(pyte.Screen):
    """Screen that reports the position of the cursor on request."""

    def write_process_input(self, data):
        os.write(self.terminal, data.encode())


class Terminal:
    def __init__(self, columns, rows, command):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            if "IGNORES_HANGUP" in os.environ:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.execvpe(command[0], command, os.environ)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen = Screen(columns, rows)
        self.screen.terminal = self.terminal
        self.stream = pyte.ByteStream(self.screen)
        self.code = None

    def read(self, seconds):
        """Reads the output of the command for this time. Returns whether there was any."""
        if self.code is not None or not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            written = os.read(self.terminal, 65536)
        except OSError:
            written = b""
        if not written:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
            return False
        self.stream.feed(written)
        return True

    def until(self, is_there, seconds):
        start = time.monotonic()
        while not is_there() and self.code is None and time.monotonic() - start < seconds:
            self.read(0.05)
        while self.read(0.05):
            pass
        return is_there()

    def line(self):
        return self.screen.display[self.screen.cursor.y]

    def is_behind(self, prompt):
        line, column = self.line(), self.screen.cursor.x
        return line[:column].rstrip() == prompt.rstrip() and not line[column:].strip()

    def keys(self, text):
        os.write(self.terminal, text.encode())

    def colors(self):
        shown = set()
        for row in self.screen.buffer.values():
            shown |= {cell.fg for cell in row.values()}
        return sorted(shown - {"default"})

    def respond(self, request):
        reached = True
        if "keys" in request:
            self.keys(request["keys"])
        if "until" in request:
            text = request["until"]
            reached = self.until(lambda: text in "\n".join(self.screen.display), request["seconds"])
        if "typed" in request:
            reached = self.until(lambda: request["typed"] in "".join(self.screen.display), request["seconds"])
        if "prompt" in request:
            reached = self.until(lambda: self.is_behind(request["prompt"]), request["seconds"])
        if "wait" in request:
            self.until(lambda: False, request["wait"])
        if "end" in request:
            reached = self.until(lambda: self.code is not None, request["end"])
        while self.read(0.02):
            pass
        lines = [line.rstrip() for line in self.screen.display]
        return {
            "screen": lines,
            "line": self.line().rstrip(),
            "reached": reached,
            "code": self.code,
            "colors": self.colors(),
            "process": self.child,
            "echoes": bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO),
        }


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        print(json.dumps(terminal.respond(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

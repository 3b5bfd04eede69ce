"""A terminal for a command: keys go in, what the screen shows comes out.

    terminal.py COLUMNS ROWS COMMAND [ARGUMENT ...]

Reads one JSON object per line and answers each with one: {"keys": TEXT} types; {"until": TEXT, "seconds": N} waits
until the screen shows a text, {"typed": TEXT, "seconds": N} until it shows what was typed, also where that goes on in the
next line, {"prompt": TEXT, "seconds": N} until the cursor stands behind a prompt at the beginning
of its line, {"end": N} until the command ends, {"wait": N} so long; {} only looks. An answer has the lines of the
screen, the line of the cursor, whether what was waited for came, the exit code, what colours there are, the process of
the command, and whether the terminal echoes what is typed. With IGNORES_HANGUP in the environment the command begins as
`nohup` would begin it.
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
    """A screen that answers when it is asked where the cursor is."""

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
        """Takes what the command writes within this time; did it write anything?"""
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
        begun = time.monotonic()
        while not is_there() and self.code is None and time.monotonic() - begun < seconds:
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

    def colours(self):
        shown = set()
        for row in self.screen.buffer.values():
            shown |= {cell.fg for cell in row.values()}
        return sorted(shown - {"default"})

    def answer(self, asked):
        came = True
        if "keys" in asked:
            self.keys(asked["keys"])
        if "until" in asked:
            text = asked["until"]
            came = self.until(lambda: text in "\n".join(self.screen.display), asked["seconds"])
        if "typed" in asked:
            came = self.until(lambda: asked["typed"] in "".join(self.screen.display), asked["seconds"])
        if "prompt" in asked:
            came = self.until(lambda: self.is_behind(asked["prompt"]), asked["seconds"])
        if "wait" in asked:
            self.until(lambda: False, asked["wait"])
        if "end" in asked:
            came = self.until(lambda: self.code is not None, asked["end"])
        while self.read(0.02):
            pass
        lines = [line.rstrip() for line in self.screen.display]
        return {
            "screen": lines,
            "line": self.line().rstrip(),
            "came": came,
            "code": self.code,
            "colours": self.colours(),
            "process": self.child,
            "echoes": bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO),
        }


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        print(json.dumps(terminal.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

"""What ninja would run in a build folder, and what of it another folder has run already."""
import functools
import json
import os
import re
import subprocess

LINKS = re.compile(r": && (?!.* -E rm -f )")


class Build:
    def __init__(self, ninja, folder):
        self.folder = folder
        text = subprocess.run([ninja, "-C", folder, "-t", "compdb", "-x"], check=True, capture_output=True,
                              text=True).stdout
        self.commands = {entry["output"]: entry["command"] for entry in json.loads(text) if entry["command"]}

    def relative(self, text):
        return text.replace(f"{self.folder}/", "")

    @functools.cached_property
    def words(self):
        """Of every command, by what it makes; paths in this folder are relative."""
        return {output: self.relative(command).split() for output, command in self.commands.items()}

    def made_before(self, output):
        """What is made here and goes into it. A precompiled header goes by the name of its source."""
        words = self.words[output]
        names = [*words, *(f"{header}.gch" for flag, header in zip(words, words[1:]) if flag == "-include")]
        return sorted(name for name in set(names) if name in self.commands and name != output)

    def written_before(self, output):
        """Files of the configuration that go into it."""
        own = re.findall(rf"(?<= ){re.escape(str(self.folder))}/(\S+)", self.commands[output])
        return sorted(name for name in set(own) if name not in self.commands and (self.folder / name).is_file())

    def linked(self):
        return [output for output, command in self.commands.items() if LINKS.match(command)]


class MissingHere(Exception):
    """What the other folder would have, but has not built."""


class BuildBeside:
    """Makes what is different in `build` from what `here` has, and takes all else from there. `build` is a folder of
    nothing but a configuration. The words `left_out` of commands make no difference."""

    def __init__(self, build, here, left_out):
        self.build, self.here = build, here
        self.left_out = [f" {words} " for words in left_out]
        self.known = {}  # Whether an output is the same.
        self.ran = []

    def is_same(self, output):
        if output not in self.known:
            self.known[output] = self._is_same(output)
        return self.known[output]

    def _is_same(self, output):
        if output not in self.here.commands or self._essence(self.build, output) != self._essence(self.here, output):
            return False
        for name in self.build.written_before(output):
            ours, theirs = self.build.folder / name, self.here.folder / name
            if not theirs.is_file() or (self.build.relative(ours.read_text(errors="replace"))
                                        != self.here.relative(theirs.read_text(errors="replace"))):
                return False
        return all(self.is_same(name) for name in self.build.made_before(output))

    def _essence(self, build, output):
        text = " ".join(build.words[output])
        for words in self.left_out:
            text = text.replace(words, " ")
        return text

    def make(self, output):
        """Raises MissingHere, or CalledProcessError of the command that failed."""
        place = self.build.folder / output
        if place.exists():
            return
        if self.is_same(output):
            there = self.here.folder / output
            if not there.exists():
                raise MissingHere(output)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(there, place)
            return
        for name in self.build.made_before(output):
            self.make(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        self.ran.append(output)
        subprocess.run(self.build.commands[output], shell=True, cwd=self.build.folder, check=True, capture_output=True,
                       text=True)

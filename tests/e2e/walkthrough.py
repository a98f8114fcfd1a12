#!/usr/bin/env python3
"""Runs the commands of a documentation page from top to bottom, in one shell.

    walkthrough.py PAGE FOLDER   FOLDER: empty, becomes the reader's home; with $DPTRAIN and $DPTRAIN_SOURCE. Exit 1 at the
                                 first command whose result differs from the page
    walkthrough.py --self-test   checks this program on small pages

What it reads in a page:

    ```sh              commands. The shell begins in a copy of the repository's files that pages name, dptrain is on the PATH
    ```sh emulator     commands for GPUs: `--gpus 0,1` becomes `--gpus emu:0,emu:1`, and what they print of emu:0 is of gpu:0
    ```sh gpu          commands for what no emulator has: only the flags are looked up in dptrain's --help
    ```sh slurm        the same
    ```sh mpi          commands that need Open MPI's mpirun; without it, like `sh gpu`
    ```text            directly after commands: their output, stdout and stderr
    <!-- exit 3 -->    before commands: one of them ends with this code, the others with 0
    <!-- sh ...  -->   hidden commands, on separate lines: they cause the message that follows, a part of their output;
                       `<!-- sh exit 3` in the first line is the code
    <!-- until C -->   before commands: they wait until the command C succeeds
    <!-- words: x -->  these words must be in a string of the sources: for a message that no command here can cause

Lines are compared with numbers (and their units) and runs of spaces treated as equal. `...` in the page matches any
text, and on a separate line any number of lines. With DPTRAIN_WALKTHROUGH_GPUS=1 the blocks for GPUs run unchanged.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d|\.\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
                    r"(?: ?(?:ns|us|µs|ms|s|min|h|B|KB|MB|GB|KiB|MiB|GiB|%)(?![A-Za-z]))?")


def normal(line):
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()


def line_fits(wanted, line):
    parts = [re.escape(normal(part)).replace(r"\ ", " ") for part in wanted.split("...")]
    return re.fullmatch(r"\s*.*?\s*".join(parts), normal(line)) is not None


def mismatch(wanted, printed):
    """The first line of `wanted` that `printed` lacks, or None."""

    def match(i, j):  # lines of wanted from i on are those of printed from j on
        nonlocal furthest
        furthest = max(furthest, i)
        if i == len(wanted):
            return j == len(printed)
        if wanted[i].strip() == "...":
            return any(match(i + 1, k) for k in range(j, len(printed) + 1))
        return j < len(printed) and line_fits(wanted[i], printed[j]) and match(i + 1, j + 1)

    furthest = 0
    if match(0, 0):
        return None
    return wanted[furthest] if furthest < len(wanted) else "(the end)"


class Block:
    def __init__(self, line, kind, text, code, until):
        self.line, self.kind, self.text, self.code, self.until, self.printed = line, kind, text, code, until, None


def blocks_of(page):
    """(blocks of commands, words of messages)"""
    blocks, words, code, until, behind = [], [], 0, None, None
    lines = page.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if comment := re.fullmatch(r"<!-- exit (\d+) -->", line):
            code = int(comment[1])
        elif comment := re.fullmatch(r"<!-- until (.*) -->", line):
            until = comment[1]
        elif comment := re.fullmatch(r"<!-- words: (.*) -->", line):
            words.append((number, comment[1]))
        elif hidden := re.fullmatch(r"<!-- sh( exit (\d+))?", line):
            begin = number
            while lines[number] != "-->":
                number += 1
            behind = Block(begin, "hidden", "\n".join(lines[begin:number]) + "\n", int(hidden[2] or 0), None)
            blocks.append(behind)
            number += 1
            continue
        elif fence := re.fullmatch(r"```(\w+)( \w+)?", line):
            begin = number
            while lines[number] != "```":
                number += 1
            text = "\n".join(lines[begin:number]) + "\n"
            number += 1
            if fence[1] == "sh":
                behind = Block(begin, (fence[2] or "").strip(), text, code, until)
                blocks.append(behind)
                code, until = 0, None
            elif fence[1] == "text":
                if not behind or behind.printed is not None:
                    raise SystemExit(f"line {begin}: a text block without commands before it")
                behind.printed = text.splitlines()
            continue
        elif line.strip() and not line.startswith("<!--"):
            behind = None  # prose
    return blocks, words


def unknown_flags(text, dptrain):
    """Errors of commands that cannot run here: syntax, and flags that are not in --help."""
    syntax = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    missing = [syntax.stderr.strip()] if syntax.returncode else []
    for line in text.replace("\\\n", " ").splitlines():
        found = re.search(r"\bdptrain ([a-z]+)\b(.*)", line.split("#")[0])
        if not found:
            continue
        known = subprocess.run([dptrain, found[1], "--help"], capture_output=True, text=True, check=False)
        if known.returncode:
            missing.append(f"dptrain {found[1]}")
        missing += [flag for flag in re.findall(r"(?<=\s)--[a-z0-9-]+", found[2]) if not re.search(flag + r"\b", known.stdout)]
    return missing


class Shell:
    """One bash for all blocks of a page."""

    def __init__(self, folder, cwd, environment):
        self.folder = folder
        self.bash = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environment,
                                     start_new_session=True)
        self.ask("set -E; trap 'walkthrough_codes+=($?)' ERR")

    def ask(self, command):
        self.bash.stdin.write(f"{command}; echo \"${{walkthrough_codes[@]}}\"\n")
        self.bash.stdin.flush()
        answer = self.bash.stdout.readline()
        if not answer.endswith("\n"):
            raise SystemExit(f"the shell ended in: {command}")
        return answer

    def wait_for(self, command):
        self.ask(f"until {command}; do sleep 0.05; done >/dev/null 2>&1")

    def run(self, number, text):
        """(codes other than 0, what was printed)"""
        file = self.folder / f"{number}.sh"
        file.write_text(text, encoding="utf-8")
        out = self.folder / f"{number}.out"
        codes = self.ask(f"walkthrough_codes=(); . '{file}' >'{out}' 2>&1 </dev/null")
        return sorted({int(code) for code in codes.split()}), out.read_text(encoding="utf-8", errors="replace")

    def end(self):
        try:
            os.killpg(self.bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.bash.wait()


def strings_of(source):
    """All string literals of the sources, with adjacent ones joined, without escapes."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted((source / "src").rglob("*"))
                     if file.suffix in (".cpp", ".h"))
    return re.sub(r'"\s*"', "", text).replace("\\", "")


def has_open_mpi(dptrain):
    if not (dptrain.parent / "libdptrain_openmpi.so").exists():
        return False
    try:
        version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False
    return "Open MPI" in version


def environment_for(home, dptrain):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DPTRAIN", "OMPI_", "NO_COLOR"))}
    environment.update(HOME=str(home), PATH=f"{dptrain.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="120",
                       # mpirun needs these as root, and with fewer cores than processes
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                       OMPI_MCA_hwloc_base_binding_policy="none")
    return environment


def run_page(page, folder, source, dptrain):
    """The first difference between what the page says and what happens, or None."""
    blocks, words = blocks_of(page)
    strings = strings_of(source) if words else ""
    for line, text in words:
        for part in text.split("..."):
            if part.strip() and part.strip() not in strings:
                return f"line {line}: no string of the sources has '{part.strip()}'"
    home, clone, steps = folder / "home", folder / "dptrain", folder / "steps"
    for made in (home, clone, steps):
        made.mkdir()
    for name in ("docs", "configs", "scripts", "tests"):
        (clone / name).symlink_to(source / name)
    with_gpus, with_mpi = os.environ.get("DPTRAIN_WALKTHROUGH_GPUS") == "1", has_open_mpi(dptrain)
    shell = Shell(steps, clone, environment_for(home, dptrain))
    try:
        for number, block in enumerate(blocks):
            text = block.text
            can_run = {"gpu": with_gpus, "mpi": with_mpi, "slurm": False}.get(block.kind, True)
            if not can_run:
                if missing := unknown_flags(text, dptrain):
                    return f"line {block.line}: {', '.join(missing)}: not in --help"
                continue
            if block.kind == "emulator" and not with_gpus:
                text = re.sub(r"(--(?:gpus|against|on)[ =])(?:gpu:)?(\d+(?:,\d+)*)",
                              lambda m: m[1] + ",".join("emu:" + one for one in m[2].split(",")), text)
            if block.until:
                shell.wait_for(block.until)
            print(f"-- line {block.line}\n{text}", end="", flush=True)
            begin = time.monotonic()
            codes, printed = shell.run(number, text)
            print(f"   {time.monotonic() - begin:.2f} s", flush=True)
            printed = printed.replace(str(home), "/home/you").replace(str(clone), "/home/you/dptrain")
            if codes != ([block.code] if block.code else []):
                return f"line {block.line}: exit codes {codes or 0}, the page says {block.code}\n{printed}"
            if text != block.text:
                printed = printed.replace("emu:", "gpu:")
            if block.printed is not None:
                around = ["..."] if block.kind == "hidden" else []
                line = mismatch(around + block.printed + around, printed.splitlines())
                if line is not None:
                    return f"line {block.line}: the page says\n    {line}\nprinted was\n{printed}"
    finally:
        shell.end()
    return None


def self_test():
    dptrain = pathlib.Path("/bin/true")
    sources = pathlib.Path(__file__).resolve().parents[2]
    cases = [  # page, a part of what is wrong with it
        ("```sh\necho 'a 12.5 s  b'\n```\n```text\na 3 ms b\n```\n", None),
        ("```sh\necho a; echo b; echo c\n```\n\n```text\n...\nc\n```\n", None),
        ("```sh\necho a; echo b; echo c\n```\n\n```text\na\nc\n```\n", "the page says\n    c"),
        ("```sh\necho a; echo b\n```\n\n```text\na\n```\n", "(the end)"),
        ("```sh\necho one two three\n```\n\n```text\none ... three\n```\n", None),
        ("```sh\nfalse\ntrue\n```\n", "exit codes [1], the page says 0"),
        ("<!-- exit 3 -->\n```sh\n(exit 3)\n```\n```sh\ntrue\n```\n", None),
        ("<!-- exit 3 -->\n```sh\ntrue\n```\n", "exit codes 0, the page says 3"),
        ("```sh\ncd ~; x=1\n```\nWords.\n```sh\necho \"$PWD $x\"\n```\n```text\n/home/you 1\n```\n", None),
        ("<!-- sh exit 4\necho a\n(exit 4)\n-->\n```text\na\n```\n", None),
        ("<!-- sh\necho a; echo b; echo c\n-->\n\n```text\nb\n```\n", None),
        ("<!-- sh\necho a\n-->\n\n```text\nb\n```\n", "the page says\n    b"),
        ("```python\nimport this\n```\n", None),
        ("<!-- words: Keras -->\n", None),
        ("<!-- words: no message has these words -->\n".replace("no m", "no-m"), "no string of the sources"),
        ("```sh emulator\necho --gpus 0,1 | wc -c\n```\n```text\n19\n```\n", None),
        ("```sh emulator\necho --gpus 0,1\n```\n```text\n--gpus gpu:0,gpu:1\n```\n", None),
    ]
    wrong = 0
    for page, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            found = run_page(page, pathlib.Path(folder), sources, dptrain)
        if (found is None) != (expected is None) or (expected and expected not in found):
            print(f"FAILED: {page!r}: found {found!r}, expected {expected!r}")
            wrong += 1
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = run_page(page.read_text(encoding="utf-8"), folder, pathlib.Path(os.environ["DPTRAIN_SOURCE"]),
                     pathlib.Path(os.environ["DPTRAIN"]).resolve())
    if found:
        print(f"FAILED: {page}: {found}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

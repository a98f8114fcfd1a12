#!/usr/bin/env python3
"""Checks that the paths in comments and documents exist.

    scripts/check_paths.py               check this repository; exit 1 if a path is missing
    scripts/check_paths.py --self-test   check the checker on planted texts

Comments of src/, kernels/ and tests/ write paths from the root ("docs/reference/numerics.md", "kernels/cpu/pool.h") or,
in a module, as in #include ("core/error.h"); documents write them from the root or from the document. "<name>", "*" and
"{a,b}" match several paths, one of which must exist.
"""

import itertools
import pathlib
import re
import sys
import tempfile

TOPS = ("src", "kernels", "tests", "docs", "scripts", "configs", "cmake")
SUFFIXES = r"(?:h|cpp|cu|md|sh|py|yaml|cmake)"
PATH = re.compile(r"(?<![\w/.$~}-])((?:[\w.<>*-]|\{[\w.,]+\})+(?:/(?:[\w.<>*-]|\{[\w.,]+\})+)+\." + SUFFIXES + r")\b(?![\w/])")
COMMENT = re.compile(r"(?:^|\s)//.*|^\s*#(?!\s*(?:include|if|endif|define|pragma|else|undef)).*")


def alternatives(path):
    """ "a/{b,c}.h" -> "a/b.h", "a/c.h"; "<name>" -> "*". """
    parts = re.split(r"\{([^}]*)\}", re.sub(r"<[^>]*>", "*", path))
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def exists(path, bases):
    return any(next(base.glob(pattern), None) for pattern in alternatives(path) for base in bases)


def texts(root):
    """(file, line number, text that is prose, where its paths may start)"""
    modules = [root / "src"]
    for top in ("src", "kernels", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".cu", ".sh"):
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                comment = COMMENT.search(line)
                if comment and (file.suffix != ".sh" or comment[0].lstrip().startswith("#")):
                    yield file, number, comment[0], [root, *modules]
    for file in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            yield file, number, line, [root, *modules, file.parent]


def is_ours(path, root):
    """Names a place of this repository, rather than of a user's run or data."""
    first = path.split("/")[0]
    return first != "." and (first in TOPS or (root / "src" / first).is_dir())


def check_tree(root):
    messages = []
    for file, number, text, bases in texts(root):
        for path in PATH.findall(text):
            if is_ours(path, root) and not exists(path, bases):
                messages.append(f"{file.relative_to(root)}:{number}: {path} does not exist")
    return messages


PLANTED = [
    ("src/core/a.h", "// see core/b.h", True),
    ("src/core/b.h", "// see core/gone.h and more", False),
    ("src/core/c.h", "int x;  ///< as docs/{here,there}.md say", True),
    ("src/core/d.h", "// tests/core/<name>_test.cpp has them", True),
    ("src/core/e.h", '#include "core/gone.h"', True),   # the compiler's business
    ("docs/here.md", "written to `runs/one/config.yaml`, see src/core/a.h", True),
    ("docs/bad.md", "see src/core/gone.cpp", False),
    ("tests/core/a_test.cpp", "// as in src/core/a.h.", True),
]


def self_test():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for file, line, _ in PLANTED:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(line + "\n", encoding="utf-8")
        found = check_tree(root)
    for file, line, good in PLANTED:
        if any(message.startswith(file + ":") for message in found) == good:
            failures += 1
            print(f"{file}: '{line}' misjudged: {found}")
    print(f"check_paths: self-test, {len(PLANTED)} planted lines, {failures} misjudged")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    messages = check_tree(pathlib.Path(__file__).resolve().parent.parent)
    for message in messages:
        print(message)
    print(f"check_paths: {len(messages)} paths that do not exist")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())

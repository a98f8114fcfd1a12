#!/usr/bin/env python3
"""Leaves out tests whose inputs have not changed since they last passed, for `scripts/test.sh --quick`.

    affected_tests.py exclude BUILD    prints a pattern for `ctest -E`: unaffected tests, and the scripts of tests/e2e
    affected_tests.py record BUILD     stores the inputs of the tests that passed in the last run
    affected_tests.py --self-test

The inputs of a test are the files that its command and REQUIRED_FILES name, executables included, and what tests read of the
source tree: data of tests/, configs/ and docs/, and the names of the sources. The checks of the source tree itself (modules.*)
always count as affected.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMPILED = {".cpp", ".h", ".cu", ".cmake"}


def digest_of(files):
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def files_below(*folders):
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*")) if file.is_file()]


def data_digest():
    names = "\n".join(map(str, files_below("src", "kernels")))
    data = [file for file in files_below("tests", "configs", "docs")
            if file.suffix not in COMPILED and file.name != "CMakeLists.txt" and ROOT / "tests/e2e" not in file.parents]
    return digest_of(data) + hashlib.sha256(names.encode()).hexdigest()


def inputs_of(tests, data):
    """{test: digest of its inputs}; tests as [(name, command and other files, labels)]."""
    found, known = {}, {}
    for name, command, labels in tests:
        if name.startswith("modules.") or "e2e" in labels:
            continue
        files = tuple(file for file in map(pathlib.Path, command) if file.is_absolute() and file.is_file())
        if files not in known:
            known[files] = digest_of(files)
        found[name] = known[files] + data
    return found


def tests_of(build):
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, text=True,
                                       stdout=subprocess.PIPE).stdout)
    for test in listed["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield test["name"], test.get("command", []) + properties.get("REQUIRED_FILES", []), properties.get("LABELS", [])


def passed_tests(build):
    report = xml.parse(build / "reports/ctest.xml").getroot()
    return {case.get("name") for case in report.iter("testcase") if case.get("status") == "run"}


def stored(build):
    file = build / "reports/passed.json"
    return json.loads(file.read_text()) if file.exists() else {}


def exclude_pattern(tests, inputs, passed):
    left_out = [name for name, _, labels in tests if "e2e" in labels or passed.get(name, "") == inputs.get(name)]
    return "^(" + "|".join(map(re.escape, left_out)) + ")$"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        program.write_text("one")
        tests = [("a", [str(program)], ["cases"]), ("b", ["/nowhere"], ["cases"]), ("e2e.c", ["bash"], ["e2e"]),
                 ("modules.d", ["python3"], [])]
        before = inputs_of(tests, "data")
        assert set(before) == {"a", "b"}
        assert exclude_pattern(tests, before, {}) == r"^(e2e\.c)$"
        assert exclude_pattern(tests, before, before) == r"^(a|b|e2e\.c)$"
        program.write_text("two")
        assert exclude_pattern(tests, inputs_of(tests, "data"), before) == r"^(b|e2e\.c)$"
        assert exclude_pattern(tests, inputs_of(tests, "other"), before) == r"^(e2e\.c)$"


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 3 or sys.argv[1] not in ("exclude", "record"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[2]).resolve()
    tests = list(tests_of(build))
    inputs, before = inputs_of(tests, data_digest()), stored(build)
    if sys.argv[1] == "exclude":
        print(exclude_pattern(tests, inputs, before))
        return
    passed = passed_tests(build)
    kept = {name: value for name, value in before.items() if inputs.get(name) == value}
    kept.update({name: value for name, value in inputs.items() if name in passed})
    (build / "reports/passed.json").write_text(json.dumps(kept, indent=0) + "\n")


if __name__ == "__main__":
    main()

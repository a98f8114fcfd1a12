#!/usr/bin/env python3
"""Adds up what the tests of a build folder reported, and where their time and the compiler's went.

    test_report.py count BUILD    prints "PASSED FAILED SKIPPED", each case of a test executable counted by itself
    test_report.py times BUILD    the slowest cases and sources, as Markdown
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

ROWS = 12


def cases(build):
    """[(name, seconds, outcome)] of all tests; an executable that left no report of its cases counts as one."""
    found, reported = [], set()
    for report in sorted((build / "reports").glob("*.xml")):
        if report.name == "ctest.xml":
            continue
        reported.add(report.stem)
        for case in xml.parse(report).getroot().iter("testcase"):
            outcome = "failed" if case.find("failure") is not None else "passed"
            if case.get("result") in ("skipped", "suppressed") or case.get("status") == "notrun":
                outcome = "skipped"
            name = f"{report.stem}: {case.get('classname')}.{case.get('name')}"
            found.append((name, float(case.get("time", 0)), outcome))
    if not (build / "reports/ctest.xml").exists():
        return [*found, ("ctest", 0.0, "failed")]
    for case in xml.parse(build / "reports/ctest.xml").getroot().iter("testcase"):
        status = case.get("status")
        if case.get("name") in reported and status == "run":
            continue
        outcome = {"run": "passed", "fail": "failed"}.get(status, "skipped")
        if case.get("name") in reported and any(c[2] == "failed" and c[0].startswith(case.get("name") + ": ") for c in found):
            continue  # its failed cases are counted
        found.append((case.get("name"), float(case.get("time", 0)), outcome))
    return found


def sources(build):
    """[(object, seconds)] of the last build, which the compiler cache may have shortened."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            seconds[re.sub(r"CMakeFiles/|\.dir|_cxx\.cxx\.o$|\.o$", "", output)] = (int(end) - int(start)) / 1000
    return list(seconds.items())


def table(title, rows):
    print(f"\n| {title} | s |\n|---|---|")
    for name, seconds in sorted(rows, key=lambda row: -row[1])[:ROWS]:
        print(f"| {name} | {seconds:.1f} |")


def main():
    action, build = sys.argv[1], pathlib.Path(sys.argv[2])
    if action == "count":
        count = collections.Counter(outcome for _, _, outcome in cases(build))
        print(count["passed"], count["failed"], count["skipped"])
        return
    found, compiled = cases(build), sources(build)
    print(f"\n{build.name}: {len(found)} tests, {sum(c[1] for c in found):.0f} s one after the other; "
          f"{len(compiled)} sources, {sum(s for _, s in compiled):.0f} s")
    table(f"slowest tests ({build.name})", [(name, seconds) for name, seconds, _ in found])
    table(f"slowest sources ({build.name})", compiled)


if __name__ == "__main__":
    main()

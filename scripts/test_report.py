#!/usr/bin/env python3
"""Counts the tests of a build folder, and reports where their time and the compiler's went.

    test_report.py count BUILD                 prints "PASSED FAILED SKIPPED", with each case of a test executable as a test
    test_report.py failed BUILD                the failed cases, a line for each
    test_report.py times BUILD                 the slowest tests, cases and sources, as Markdown
    test_report.py missed LOG                  share of compilations that the compiler cache missed, from CCACHE_STATSLOG
    test_report.py table RELEASE ASAN TSAN     prints tests/times.tsv from the last runs in three build folders
    test_report.py --self-test
"""

import collections
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

ROWS = 12
LISTED_SECONDS = 0.3  # shorter cases are not in the table


def ctest_tests(build):
    """[(name, seconds, status)] of ctest's own report."""
    report = build / "reports/ctest.xml"
    if not report.exists():
        return []
    return [(case.get("name"), float(case.get("time", 0)), case.get("status"))
            for case in xml.parse(report).getroot().iter("testcase")]


def reported_cases(build):
    """{test: [(case, seconds, outcome)]} of the test executables."""
    found = {}
    for report in sorted((build / "reports").glob("*.xml")):
        if report.name == "ctest.xml":
            continue
        found[report.stem] = cases = []
        for case in xml.parse(report).getroot().iter("testcase"):
            if case.get("result") == "suppressed" or case.get("status") == "notrun":
                continue  # a case of another part
            outcome = "failed" if case.find("failure") is not None else "passed"
            if case.get("result") == "skipped":
                outcome = "skipped"
            cases.append((f"{case.get('classname')}.{case.get('name')}", float(case.get("time", 0)), outcome))
    return found


def outcomes(build):
    """[(name, outcome)] of all tests; an executable without a report of its cases counts as one."""
    reported = reported_cases(build)
    found = [(f"{test}: {case}", outcome) for test, cases in reported.items() for case, _, outcome in cases]
    tests = ctest_tests(build)
    if not tests:
        return [*found, ("ctest", "failed")]
    for name, _, status in tests:
        if name in reported and (status == "run" or any(outcome == "failed" for _, _, outcome in reported[name])):
            continue  # its cases are counted
        found.append((name, {"run": "passed", "fail": "failed"}.get(status, "skipped")))
    return found


def failed_lines(build):
    return [f"failed: {build.name} {name}" for name, outcome in outcomes(build) if outcome == "failed"]


def compiled(build):
    """[(object, seconds)] of the last compilation of each object."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            seconds[re.sub(r"CMakeFiles/|\.dir|_cxx\.cxx\.o$|\.o$", "", output)] = (int(end) - int(start)) / 1000
    return list(seconds.items())


def print_slowest(title, rows):
    print(f"\n| {title} | s |\n|---|---|")
    for name, seconds in sorted(rows, key=lambda row: -row[1])[:ROWS]:
        print(f"| {name} | {seconds:.1f} |")


def print_times(build):
    tests, sources = ctest_tests(build), compiled(build)
    cases = [(f"{test}: {case}", seconds) for test, found in reported_cases(build).items() for case, seconds, _ in found]
    print(f"\n{build.name}: {len(tests)} tests with {len(cases)} cases, {sum(t[1] for t in tests):.0f} s in sequence; "
          f"{len(sources)} sources, {sum(s for _, s in sources):.0f} s in sequence")
    print_slowest(f"slowest tests ({build.name})", [(name, seconds) for name, seconds, _ in tests])
    print_slowest(f"slowest cases ({build.name})", cases)
    print_slowest(f"slowest sources ({build.name})", sources)


def missed_share(log):
    """Share of compilations that were not in the compiler cache; 1 without a log (no ccache)."""
    if not log.exists():
        return 1.0
    results = collections.Counter(line.strip() for line in log.read_text().splitlines() if not line.startswith("#"))
    missed, hits = results["cache_miss"], results["direct_cache_hit"] + results["preprocessed_cache_hit"]
    return missed / (missed + hits) if missed + hits else 0.0


def whole_test(name):
    """"reduce" for "reduce.2"."""
    return re.sub(r"\.\d+$", "", name)


def times_table(builds):
    """Lines of tests/times.tsv: whole tests first ("*"), then their slow cases."""
    whole, slow = collections.defaultdict(lambda: [0.0] * 3), collections.defaultdict(lambda: [0.0] * 3)
    for column, build in enumerate(builds):
        for name, seconds, _ in ctest_tests(build):
            whole[whole_test(name)][column] += seconds
        for test, cases in reported_cases(build).items():
            for case, seconds, _ in cases:
                slow[whole_test(test), case][column] = seconds
    rows = [(name, "*", seconds) for name, seconds in sorted(whole.items()) if max(seconds) >= 1]
    rows += [(*key, seconds) for key, seconds in sorted(slow.items()) if max(seconds) >= LISTED_SECONDS]
    return ["test\tcase\trelease\tasan\ttsan", *("\t".join([test, case, *(f"{s:.1f}" for s in seconds)])
                                                 for test, case, seconds in rows)]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "reports").mkdir()
        (build / "reports/ctest.xml").write_text(
            '<testsuite><testcase name="a.1" time="2" status="run"/><testcase name="a.2" time="1" status="fail"/>'
            '<testcase name="s" time="4" status="run"/><testcase name="n" time="0" status="notrun"/>'
            '<testcase name="crashed" time="1" status="fail"/></testsuite>')
        (build / "reports/a.1.xml").write_text(
            '<t><testcase classname="A" name="x" time="1.5" result="completed" status="run"/>'
            '<testcase classname="A" name="y" time="0.1" result="skipped" status="run"/>'
            '<testcase classname="A" name="z" time="0" result="suppressed" status="notrun"/></t>')
        (build / "reports/a.2.xml").write_text(
            '<t><testcase classname="A" name="z" time="0.5" result="completed" status="run"><failure/></testcase></t>')
        counted = collections.Counter(outcome for _, outcome in outcomes(build))
        assert counted == {"passed": 2, "failed": 2, "skipped": 2}, counted
        assert failed_lines(build) == [f"failed: {build.name} a.2: A.z", f"failed: {build.name} crashed"]
        assert times_table([build] * 3) == [
            "test\tcase\trelease\tasan\ttsan", "a\t*\t3.0\t3.0\t3.0", "crashed\t*\t1.0\t1.0\t1.0", "s\t*\t4.0\t4.0\t4.0",
            "a\tA.x\t1.5\t1.5\t1.5", "a\tA.z\t0.5\t0.5\t0.5"], times_table([build] * 3)
        (build / "log").write_text("# a.cpp\ncache_miss\n# b.cpp\ndirect_cache_hit\n# c.cpp\npreprocessed_cache_hit\n"
                                   "# d.cpp\ndirect_cache_hit\n")
        assert missed_share(build / "log") == 0.25
        assert missed_share(build / "none") == 1.0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    action, *folders = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    if action == "count":
        count = collections.Counter(outcome for _, outcome in outcomes(folders[0]))
        print(count["passed"], count["failed"], count["skipped"])
    elif action == "failed":
        print("\n".join(failed_lines(folders[0])))
    elif action == "times":
        print_times(folders[0])
    elif action == "missed":
        print(f"{missed_share(folders[0]):.2f}")
    elif action == "table":
        print("\n".join(times_table(folders)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

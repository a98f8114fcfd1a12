#!/usr/bin/env python3
"""Compares the engines that dptrain chooses with several versions of cuDNN with the table tests/plans/engines.tsv.

    cudnn_versions.py PLAN_CHECK FOLDER...            compare; exit 1 with a line for each difference
    cudnn_versions.py PLAN_CHECK FOLDER... --write    write these versions' columns of the table
    cudnn_versions.py --download FOLDER               download each cuDNN, and what it opens, from PyPI; prints a FOLDER
                                                      for each version. Exit 77 without pip or network
    cudnn_versions.py --self-test                     check this program on substitutes of PLAN_CHECK

PLAN_CHECK is the program dptrain_plan_check. It plans the convolutions of tests/plans/*.txt for an H200, which need not
be there. FOLDER: one version's libraries, or several folders joined with ":". A pass without a plan and a crash are
failures, too. A version without a column, such as a new release, is compared with the last column for information.

A line of the table is one pass of a layer. A cell is the number of the engine; ":A3" follows if it is not the first of
the heuristics' list (F: of the fallback list), "=" is the cell to the left.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

LISTS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "plans"
MODES, BATCH = ("bf16", "tf32", "fp32"), "256"
KEY = ("list", "layer", "pass", "mode")
# cuDNN by version, the oldest that plans without a GPU first. The last one is the newest release. cuDNN 9.11 has no wheel
# for CUDA 13.
CUDNN = ("nvidia-cudnn-cu12==9.11.1.4", "nvidia-cudnn-cu13==9.14.0.64", "nvidia-cudnn-cu13==9.19.0.56", "nvidia-cudnn-cu13")
# Libraries that cuDNN opens. Without NVRTC it lists no engines that are compiled at run time.
OPENED = {"cu12": ("nvidia-cublas-cu12==12.9.1.4", "nvidia-cuda-nvrtc-cu12==12.9.86"),
          "cu13": ("nvidia-cublas==13.0.2.14", "nvidia-cuda-nvrtc==13.0.88")}
PLAN = re.compile(r"(\S+)\.txt (\S+) (\S+) (forward|data|weights): (?:eng(\d+)\b.* \(([AF]\d+), .*|NONE: (.*))")
SKIPPED = 77


def fail(message):
    sys.exit(f"cudnn_versions: {message}")


# ---- what a version of cuDNN chooses

def engines_of(program, folder, lists, modes):
    """(version, {key: cell}, {what: failure}) of the libraries in a folder; what: a key, or a mode that ended early."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    version, cells, failures = None, {}, {}
    for mode in modes:
        done = subprocess.run([program, mode, BATCH, *map(str, lists)], capture_output=True, text=True, env=environment)
        text = done.stdout + done.stderr
        if done.returncode == SKIPPED:
            print(text, end="", file=sys.stderr)
            sys.exit(SKIPPED)
        if found := re.search(r"^cuDNN (\S+)$", text, re.MULTILINE):
            version = found[1]
        if done.returncode not in (0, 1):  # 1: a pass has no engine, reported below
            failures[mode] = f"{mode}, cuDNN {version}: exit code {done.returncode}: {(text.splitlines() or [''])[-1]}"
        for line in text.splitlines():
            if not (plan := PLAN.match(line)):
                continue
            key = (plan[1], plan[3], plan[4], plan[2])
            if plan[7]:
                failures[key] = f"{describe(key)}, cuDNN {version}: no plan: {plan[7]}"
                continue
            cells[key] = plan[5] if plan[6] == "A0" else f"{plan[5]}:{plan[6]}"
    return version, cells, failures


def describe(key):
    network, layer, name, mode = key
    return f"{network} {layer} {name}, {mode}"


def in_words(cell):
    engine, _, rank = cell.partition(":")
    return f"eng{engine} ({rank or 'A0'})"


# ---- the table

def read_table(path):
    """({version: {key: cell}}, [key])"""
    columns, keys, versions = {}, [], []
    for line in path.read_text().splitlines() if path.exists() else []:
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if fields[:4] == list(KEY):
            versions = fields[4:]
            columns = {version: {} for version in versions}
            continue
        key, cell = tuple(fields[:4]), None
        keys.append(key)
        for version, text in zip(versions, fields[4:]):
            cell = cell if text == "=" else text
            columns[version][key] = cell
    return columns, keys


def order_of(version):
    return tuple(map(int, version.split(".")))


def write_table(path, columns, keys):
    versions = sorted(columns, key=order_of)
    lines = ["# engines chosen for an H200 by version of cuDNN, batch 256; written by scripts/gpu/cudnn_versions.py --write",
             "\t".join((*KEY, *versions))]
    for key in keys:
        cells, before = [], None
        for version in versions:
            cell = columns[version].get(key, "-")
            cells.append("=" if cell == before else cell)
            before = cell
        lines.append("\t".join((*key, *cells)))
    path.write_text("\n".join(lines) + "\n")


def differences(version, expected, found):
    """{key: line}"""
    lines = {}
    for key in dict.fromkeys((*expected, *found)):
        old, new = expected.get(key), found.get(key)
        if old == new:
            continue
        text = f"{in_words(new)}, " if new else "not planned, "
        text += f"expected {in_words(old)}" if old else "not in the table"
        lines[key] = f"{describe(key)}, cuDNN {version}: {text}"
    return lines


def compare(program, folders, table, lists, modes, write):
    """The number of failures; prints them."""
    columns, keys = read_table(table)
    failed = 0
    for folder in folders:
        version, found, failures = engines_of(program, folder, lists, modes)
        if version is None:
            fail(f"no cuDNN opens from {folder}: {failures}")
        if write:
            columns[version] = found
            keys = list(dict.fromkeys((*keys, *found)))
        elif version in columns:
            expected = {key: cell for key, cell in columns[version].items() if key not in failures and key[3] not in failures}
            failures |= differences(version, expected, {key: cell for key, cell in found.items() if key[3] not in failures})
        elif columns:
            last = max(columns, key=order_of)
            other = differences(version, columns[last], found)
            print(f"cuDNN {version} has no column; {len(other)} of {len(found)} engines differ from those of {last}. "
                  "Review the new ones and add the column with --write")
        for failure in failures.values():
            print(failure)
        print(f"cuDNN {version}: {len(found)} passes, {len(failures)} failures")
        failed += len(failures)
    if write:
        if failed:
            fail("the table was not written")
        write_table(table, columns, keys)
    return failed


# ---- libraries

def download(folder):
    """The folders of each version, joined with ":"."""
    folder.mkdir(parents=True, exist_ok=True)
    return [":".join(str(unpacked(folder, wheel)) for wheel in (cudnn, *OPENED[re.search(r"cu\d+", cudnn)[0]]))
            for cudnn in CUDNN]


def unpacked(folder, requirement):
    """The folder with the libraries of a wheel, downloaded unless an earlier call has done so."""
    name, _, version = requirement.partition("==")
    if version and (done := folder / f"{name}-{version}").exists():
        return done
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--only-binary", ":all:", "--dest", place, requirement]
        if (result := subprocess.run(command, capture_output=True, text=True)).returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["?"])[-1]
            print(f"SKIPPED: {requirement} cannot be downloaded: {reason}", file=sys.stderr)
            sys.exit(SKIPPED)
        wheel = next(pathlib.Path(place).glob("*.whl"))
        done = folder / f"{name}-{wheel.name.split('-')[1]}"
        if done.exists():
            return done
        libraries = pathlib.Path(place) / "libraries"
        libraries.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if re.search(r"\.so(\.\d+)*$", member.filename):
                    member.filename = pathlib.PurePosixPath(member.filename).name
                    archive.extract(member, libraries)
        libraries.rename(done)
    return done


# ---- self-test

FAKE = r"""#!/bin/sh
cat "$LD_LIBRARY_PATH/$1" 2>/dev/null || { echo "cuDNN 9.1.0"; exit 134; }
! grep -q NONE "$LD_LIBRARY_PATH/$1"
"""


def self_test():
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place)
        program, table, lists = root / "plan_check", root / "engines.tsv", ["net.txt"]
        program.write_text(FAKE)
        program.chmod(0o755)

        def version(number, *plans):
            folder = root / number
            folder.mkdir(exist_ok=True)
            (folder / "bf16").write_text(f"cuDNN {number}\n" + "".join(f"net.txt bf16 {plan}\n" for plan in plans))
            return folder

        def run(*folders, write=False):
            code = (f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import cudnn_versions as c, pathlib; "
                    f"sys.exit(min(1, c.compare({str(program)!r}, {list(map(str, folders))!r}, pathlib.Path({str(table)!r}), "
                    f"{lists!r}, ['bf16'], {write})))")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

        old = version("9.1.0", "conv forward: eng51 k2=5 (A0, 131 B)", "conv data: eng0 (F2, 0 B) + bias")
        new = version("9.20.0", "conv forward: eng51 k2=7 (A0, 131 B)", "conv data: eng7 (A12, 1.0 MiB)")
        assert run(new, old, write=True)[0] == 0
        assert table.read_text().splitlines()[1:] == [
            "list\tlayer\tpass\tmode\t9.1.0\t9.20.0", "net\tconv\tforward\tbf16\t51\t=", "net\tconv\tdata\tbf16\t0:F2\t7:A12"]
        code, text = run(old, new)
        assert code == 0 and "cuDNN 9.20.0: 2 passes, 0 failures" in text, text
        version("9.1.0", "conv forward: eng51 k2=5 (A0, 131 B)", "conv data: eng0 (F1, 0 B)")
        code, text = run(old)
        assert code == 1 and "net conv data, bf16, cuDNN 9.1.0: eng0 (F1), expected eng0 (F2)\n" in text, text
        version("9.1.0", "conv forward: eng52 (A0, 131 B)", "conv data: NONE: not deterministic: A0 eng1")
        code, text = run(old)
        assert code == 1 and "net conv forward, bf16, cuDNN 9.1.0: eng52 (A0), expected eng51 (A0)\n" in text, text
        assert "net conv data, bf16, cuDNN 9.1.0: no plan: not deterministic: A0 eng1\n" in text, text
        assert "2 failures" in text, text
        assert run(old, write=True)[0] == 1 and "52" not in table.read_text()
        version("9.1.0", "conv forward: eng51 (A0, 131 B)")
        code, text = run(old)
        assert code == 1 and "net conv data, bf16, cuDNN 9.1.0: not planned, expected eng0 (F2)\n" in text, text
        (old / "bf16").unlink()
        code, text = run(old)
        assert code == 1 and "bf16, cuDNN 9.1.0: exit code 134: cuDNN 9.1.0\n" in text and "not planned" not in text, text
        newest = version("9.21.0", "conv forward: eng3 (A0, 1 B)", "conv data: eng7 (A12, 1.0 MiB)")
        code, text = run(newest)
        assert code == 0 and "cuDNN 9.21.0 has no column; 1 of 2 engines differ from those of 9.20.0" in text, text
        version("9.21.0", "conv forward: NONE: nothing", "conv data: eng7 (A12, 1.0 MiB)")
        assert run(newest)[0] == 1
    print("ok")


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    if arguments[:1] == ["--download"] and len(arguments) == 2:
        return print("\n".join(download(pathlib.Path(arguments[1]).resolve())))
    write = "--write" in arguments
    arguments = [argument for argument in arguments if argument != "--write"]
    if len(arguments) < 2 or arguments[0].startswith("-"):
        print(__doc__)
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    lists = sorted(path for path in LISTS.glob("*.txt") if path.name != "CMakeLists.txt")
    failed = compare(os.path.abspath(arguments[0]), arguments[1:], LISTS / "engines.tsv", lists, MODES, write)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""One table of dptrain and PyTorch from the files of `check.sh performance`, in Markdown.

    python3 table.py OUT

reads OUT/bench/WORK.PRECISION.MODE/bench.json (modes eager and graph) and OUT/torch/*.jsonl, the lines of
torch_side_by_side.py. Numbers are examples per second, medians; a ratio above 1 is in favour of dptrain. It compares the
faster mode of dptrain with PyTorch's eager mode and with the fastest of PyTorch's. What was not measured is "-".
"""
import glob
import json
import os
import sys

PRECISIONS = ("bf16", "tf32", "fp32")
HEADER = ("work", "batch", "precision", "dptrain eager", "dptrain graph", "torch eager", "torch compile", "torch graph",
          "to eager", "to fastest", "GiB", "torch GiB")


def read_dptrain(folder):
    """{(work, precision, mode): row of bench.json}"""
    found = {}
    for path in glob.glob(os.path.join(folder, "bench", "*", "bench.json")):
        parts = os.path.basename(os.path.dirname(path)).split(".")
        if len(parts) != 3:
            continue
        with open(path, encoding="utf-8") as file:
            row = json.load(file)["rows"][0]
        found[tuple(parts)] = {"batch": row["global_batch"], "rate": row["examples_per_second"], "peak": row.get("device_bytes", 0)}
    return found


def read_torch(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "torch", "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for line in file:
                case = json.loads(line)
                if "error" not in case:
                    found[case["work"], case["precision"], case["mode"]] = {
                        "batch": case["batch"], "rate": case["examples_per_second"], "peak": case["peak_bytes"]}
    return found


def best(cases):
    return max((case for case in cases if case), key=lambda case: case["rate"], default=None)


def number(case):
    return f"{case['rate']:,.0f}" if case else "-"


def ratio(ours, theirs):
    return f"{ours['rate'] / theirs['rate']:.2f}" if ours and theirs else "-"


def gib(case):
    return f"{case['peak'] / 2**30:.1f}" if case and case["peak"] else "-"


def row(work, precision, ours, theirs):
    """The cells of one line, or None where nothing was measured."""
    own = {mode: ours.get((work, precision, mode)) for mode in ("eager", "graph")}
    peer = {mode: theirs.get((work, precision, mode)) for mode in ("eager", "compile", "graph")}
    measured = [case for case in (*own.values(), *peer.values()) if case]
    if not measured:
        return None
    batches = {case["batch"] for case in measured}
    if len(batches) > 1:
        sys.exit(f"table: {work} {precision} was measured with different batches: {sorted(batches)}")
    fastest, peers_fastest = best(own.values()), best(peer.values())
    return (work, str(batches.pop()), precision, number(own["eager"]), number(own["graph"]), number(peer["eager"]),
            number(peer["compile"]), number(peer["graph"]), ratio(fastest, peer["eager"]), ratio(fastest, peers_fastest),
            gib(fastest), gib(peers_fastest))


def markdown(rows):
    table = [HEADER, *rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADER))]

    def text(line):
        cells = [cell.ljust(width) if i in (0, 2) else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))]
        return "| " + " | ".join(cells) + " |"
    ruler = "|" + "|".join("-" * (width + 2) if i in (0, 2) else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|"
    return "\n".join([text(HEADER), ruler, *map(text, rows)])


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    ours, theirs = read_dptrain(sys.argv[1]), read_torch(sys.argv[1])
    works = list(dict.fromkeys(key[0] for key in (*ours, *theirs)))
    rows = [row(work, precision, ours, theirs) for work in sorted(works) for precision in PRECISIONS]
    rows = [line for line in rows if line]
    if not rows:
        sys.exit(f"table: no measurement under {sys.argv[1]}/bench and {sys.argv[1]}/torch")
    print(markdown(rows))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the model behind the tables of docs/many-cores.md: what a kernel call and a bucket of the reduction cost.

It counts, from the code, lines of the cache that move between cores and threads that are woken, before and after the
pool and the meetings were mended, and multiplies. Nothing is measured here.
"""
import argparse
import math
import re
from pathlib import Path

POOL = Path(__file__).parent.parent / "kernels/cpu/thread_pool.cpp"


def wakes_of_each() -> int:
    return int(re.search(r"kWakes = (\d+)", POOL.read_text()).group(1))


class Model:
    def __init__(self, a: argparse.Namespace):
        self.a, self.fan = a, wakes_of_each()

    def line(self, threads: int) -> float:  # microseconds of one move
        return (self.a.near if threads <= self.a.socket else self.a.far) / 1000

    def many(self, lines: float, threads: int) -> float:  # moves that the core overlaps
        return lines * self.line(threads) / self.a.overlap

    def call(self, t: int, mended: bool) -> tuple[int, float]:
        """Moves of one line one after the other, and microseconds, of a call whose helpers are awake."""
        begin, others = self.many(t - 1, t), t - 1
        if not mended:  # join, close and leave are each a read-modify-write of one word; then all ranges are looked at
            return 3 * others + 1, begin + (3 * others + 1) * self.line(t) + self.many(others, t)
        # They read the call, write their own places twice and read that it is closed; the caller reads their places.
        return 3, begin + 3 * self.line(t) + self.many(3 * others, t)

    def wake(self, t: int, mended: bool) -> tuple[int, float, float]:
        """Wakes by the caller, how long they hold it, and when the last helper runs, in microseconds."""
        a, others = self.a, t - 1
        if not mended:
            return others, others * a.wake, others * a.wake + a.run
        own, levels = min(self.fan, others), math.ceil(math.log(t, self.fan + 1))
        return own, own * a.wake, levels * (own * a.wake + a.run)

    def pays(self, t: int, mended: bool) -> float:
        """Microseconds of one thread from which a kernel is faster on t threads than on half of them."""
        before = self.call(t // 2, mended)[1] if t > 2 else 0
        return t * (self.call(t, mended)[1] - before)

    def bucket(self, r: int, mended: bool) -> tuple[int, int, float]:
        """Moves one after the other, most wakes, and microseconds of those, of replicas that come one by one."""
        wakes = r - 1 if mended else r * (r - 1) // 2
        return 2 * r, wakes, 2 * r * self.line(r) + wakes * self.a.wake


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--near", type=float, default=40, help="ns for a line to move within a socket")
    p.add_argument("--far", type=float, default=200, help="ns between sockets")
    p.add_argument("--socket", type=int, default=32, help="most threads that stay within one")
    p.add_argument("--overlap", type=float, default=8, help="moves of different lines, or to readers, at once")
    p.add_argument("--wake", type=float, default=1.5, help="us that waking a thread takes whoever wakes it")
    p.add_argument("--run", type=float, default=5, help="us until it runs")
    m = Model(p.parse_args())
    print("| threads | moves in a row | call, awake | wakes by the caller | caller held | last one runs | pays from |")
    print("|---|---|---|---|---|---|---|")
    for t in (2, 16, 64, 128):
        cells = []
        for mended in (True, False):
            moves, call = m.call(t, mended)
            wakes, held, last = m.wake(t, mended)
            cells.append([f"{moves}", f"{call:.1f} µs", f"{wakes}", f"{held:.1f} µs", f"{last:.0f} µs",
                          f"{m.pays(t, mended):,.0f} µs" if t > 2 else f"{m.pays(t, mended):.1f} µs"])
        print(f"| {t} | " + " | ".join(f"{new} ({old})" for new, old in zip(*cells)) + " |")
    print("\n| replicas | moves in a row | most wakes | moves and wakes |\n|---|---|---|---|")
    for r in (2, 16, 64, 128):
        (moves, wakes, us), (_, old_wakes, old_us) = m.bucket(r, True), m.bucket(r, False)
        print(f"| {r} | {moves} | {wakes} ({old_wakes}) | {us:.0f} µs ({old_us:.0f} µs) |")


if __name__ == "__main__":
    main()

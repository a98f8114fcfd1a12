#!/usr/bin/env python3
"""Compares the compiled kernels with a table: registers, spills, shared memory, occupancy, accesses, bytes in flight.

    compiled_kernels.py TABLE OBJECT...           compare; exit 1 with a line for each kernel that is worse
    compiled_kernels.py TABLE OBJECT... --write   rewrite the table
    compiled_kernels.py --self-test               check the checker on planted figures

    cmake --build --preset release --target dptrain_kernel_table      writes the table of the project

Reads the machine code in nvcc's object files directly; needs only c++filt of binutils. Exit 77: nothing was compared,
because the objects contain no machine code for a known GPU. For another release of nvcc than the table's, compares only
properties that no release may change: kernels, spills, 128-bit accesses.

TABLE is for one GPU. Machine code for the others (LIMITS) is also compared with it: no more local and static shared
memory, and as many warps, or the maximum of the GPU. A second table, TABLE_others, lists exceptions and their bounds.

A line of the table is one kernel as compiled:
    regs     registers of a thread
    stack    bytes of a thread's local memory: spilled registers, and arrays that found no registers
    shared   bytes of static shared memory of a block
    warps    that a multiprocessor runs at once of the 64 it can, as far as registers, static shared memory and the block
             allow; what a launch adds in dynamic shared memory is not known here
    load, store   instructions on global memory: of 128 bits / of any width
    flight   bytes of global loads in flight per multiprocessor: warps x 32 x the most bytes that a thread has requested
             at once in the innermost loop that requests most, or in the whole kernel if no loop loads. A wait for the
             scoreboard of a load ends its flight. Branches inside the loop count as not taken. An estimate: caches are
             not modeled, and a grid of fewer blocks has fewer warps
"""
import collections
import itertools
import pathlib
import re
import shutil
import struct
import subprocess
import sys

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "cuda"
# A fat binary: a head (magic, version, its size, bytes behind it), then entries, each with a head (kind, version, its size,
# bytes behind it, at byte 28 the architecture).
FATBIN, HEADER, ENTRY, ELF = b"\x50\xed\x55\xba", struct.Struct("<IHHQ"), struct.Struct("<HHIQ"), 2
COLUMNS = ("source", "kernel", "regs", "stack", "shared", "warps", "load", "store", "flight")
# Bits 0-11 of an instruction of sm_70 and newer (16 bytes each); bits 73-75 are the width, 6 being 128 bits.
LOADS, STORES, WIDE = {0x981, 0x980, 0x381}, {0x986, 0x985, 0x386}, 6
BYTES = (1, 1, 2, 2, 4, 8, 16, 16)  # of an access, by its width
BRANCHES, FLIGHT_OF = {0x947, 0x547}, 90  # bytes in flight: of this architecture's kernels only
SCOREBOARDS = 6  # bits 110-112: which one a load sets, or 7; bits 116-121: those that an instruction waits for
REGISTERS, FRAME, STACK, MAX_THREADS = 0x2F, 0x11, 0x12, 0x05  # attributes of .nv.info
# Of a multiprocessor: registers, warps, blocks, bytes of shared memory, of these kept of each block (CUDA C++
# Programming Guide, "Compute Capabilities"; registers go to warps in pieces of 256, shared memory in pieces of 128).
LIMITS = {80: (65536, 64, 32, 167936, 1024), 89: (65536, 48, 24, 102400, 1024), 90: (65536, 64, 32, 233472, 1024),
          100: (65536, 64, 32, 233472, 1024), 120: (65536, 48, 24, 102400, 1024)}
OTHERS = [architecture for architecture in LIMITS if architecture != 90]
OTHER_COLUMNS = ("source", "kernel", *(f"sm_{architecture}" for architecture in OTHERS))

Kernel = collections.namedtuple("Kernel", "regs stack shared warps load store flight")


def fail(message):
    sys.exit(f"compiled_kernels: {message}")


# ---- object files

def cubins(path):
    """(architecture, image) of the machine code in an object file of nvcc's."""
    data, at = path.read_bytes(), 0
    while (at := data.find(FATBIN, at)) >= 0:
        _, _, header, size = HEADER.unpack_from(data, at)
        entry, at = at + header, at + header + size
        while entry < at:
            kind, _, head, length = ENTRY.unpack_from(data, entry)
            if kind == ELF:
                image = data[entry + head:entry + head + length]
                if image[:4] != b"\x7fELF":
                    fail(f"{path}: its machine code is compressed; build with nvcc's --compress-mode left at its default")
                yield struct.unpack_from("<I", data, entry + 28)[0], image
            entry += head + length


class Cubin:
    """Sections, symbols and attributes of one image."""

    def __init__(self, image):
        self.image = image
        (at,), (count, strings) = struct.unpack_from("<Q", image, 40), struct.unpack_from("<HH", image, 60)
        headers = [struct.unpack_from("<IIQQQQIIQQ", image, at + 64 * i) for i in range(count)]
        self.sections = {self.text(headers[strings][4] + h[0]): h for h in headers}
        self.attributes = self.numbers_of(".nv.info")
        symbols, names = self.sections[".symtab"], self.sections[".strtab"]
        self.symbols = []
        for at in range(symbols[4], symbols[4] + symbols[5], 24):
            name, _, other = struct.unpack_from("<IBB", image, at)
            self.symbols.append((self.text(names[4] + name), other))

    def text(self, at):
        return self.image[at:self.image.index(b"\0", at)].decode()

    def bytes_of(self, section):
        header = self.sections[section]
        return self.image[header[4]:header[4] + header[5]]

    def numbers_of(self, section):
        """{attribute: [its numbers]} of a section of attributes: a form, an attribute, 2 bytes or a size and a value."""
        found, at = collections.defaultdict(list), 0
        data = self.bytes_of(section) if section in self.sections else b""
        while at < len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == 4:
                found[attribute].append(struct.unpack_from(f"<{size // 4}I", data, at))
                at += size
        return found

    def release(self):
        """"13.0" of the nvcc that made it."""
        words = self.bytes_of(".note.nv.tkinfo") if ".note.nv.tkinfo" in self.sections else b""
        release = re.search(rb"release (\d+\.\d+)", words)
        return release[1].decode() if release else "of an unknown release"

    def kernels(self, architecture, warps_of):
        """(mangled name, Kernel); warps_of(name, threads of its bounds or None, registers, shared bytes)."""
        per_symbol = {attribute: dict(self.attributes[attribute]) for attribute in (REGISTERS, FRAME, STACK)}
        for number, (name, other) in enumerate(self.symbols):
            if not other & 0x10 or f".text.{name}" not in self.sections:  # STO_CUDA_ENTRY
                continue
            shared = self.sections.get(f".nv.shared.{name}", (0,) * 6)[5]
            bounds = self.numbers_of(f".nv.info.{name}")[MAX_THREADS]
            threads = bounds[0][0] * bounds[0][1] * bounds[0][2] if bounds else None
            regs = per_symbol[REGISTERS][number]
            stack = max(per_symbol[FRAME].get(number, 0), per_symbol[STACK].get(number, 0))
            words = list(struct.iter_unpack("<QQ", self.bytes_of(f".text.{name}")))
            load, store = accesses(words)
            warps = warps_of(name, threads, regs, shared)
            flight = warps * 32 * most_in_flight(words) if architecture == FLIGHT_OF else 0
            yield name, Kernel(regs, stack, shared, warps, load, store, flight)


def accesses(words):
    """((wide, all) loads, (wide, all) stores) of instructions, two words each."""
    counts = {True: [0, 0], False: [0, 0]}
    for low, high in words:
        operation = low & 0xFFF
        if operation in LOADS or operation in STORES:
            count = counts[operation in LOADS]
            count[0] += (high >> 9 & 7) == WIDE
            count[1] += 1
    return tuple(counts[True]), tuple(counts[False])


def loops(words):
    """(first, last) instruction of each backward branch's range, for sm_90, without the endless one after a kernel's end."""
    for at, (low, high) in enumerate(words):
        if low & 0xFFF not in BRANCHES:
            continue
        offset = (low >> 34 | high << 30) & (1 << 48) - 1
        offset -= (offset & 1 << 47) << 1
        first = at + 1 + ((offset << 8 | low >> 16 & 0xFF) >> 2)  # in words of 4 bytes, the lowest 8 bits apart
        if 0 <= first < at:
            yield first, at


def in_flight(words):
    """Most bytes of global loads that a thread has requested and not waited for in these instructions."""
    most, pending = 0, [0] * SCOREBOARDS
    for low, high in words:
        if waits := high >> 52 & 0x3F:
            pending = [0 if waits >> board & 1 else count for board, count in enumerate(pending)]
        board = high >> 46 & 7
        if low & 0xFFF in LOADS and board < SCOREBOARDS:
            pending[board] += BYTES[high >> 9 & 7]
            most = max(most, sum(pending))
    return most


def most_in_flight(words):
    """in_flight() of the innermost loop where it is most; without a loop that loads, of the whole kernel."""
    # Twice: a loop may request bytes that it waits for when it repeats.
    found = {(first, last): in_flight(words[first:last + 1] * 2) for first, last in loops(words)}
    found = {loop: count for loop, count in found.items() if count > 0}
    inner = [count for (first, last), count in found.items()
             if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in found)]
    return max(inner, default=0) or in_flight(words)


# ---- occupancy

def warps_at_once(limits, threads, registers, shared):
    """Warps of a multiprocessor at once of blocks of so many threads."""
    all_registers, all_warps, all_blocks, all_shared, kept = limits
    warps = -(-threads // 32)
    a_warp = -(-registers * 32 // 256) * 256
    blocks = min(all_blocks, all_warps // warps, all_registers // a_warp // warps)
    return warps * min(blocks, all_shared // (-(-shared // 128) * 128 + kept))


def split(text):
    """Arguments of a call from behind its bracket on, and no more than the call."""
    depth, argument = 0, ""
    for letter in text:
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if depth == 0:
                yield argument.strip()
                return
            depth -= 1
        if letter == "," and depth == 0:
            yield argument.strip()
            argument = ""
        else:
            argument += letter


class Blocks:
    """Threads of a block of each kernel, as the launches in kernels/cuda say."""

    def __init__(self, sources):
        text = "\n".join(sources)
        self.constants = {name: int(value) for line in re.findall(r"constexpr (?:int|unsigned) ([^;]*);", text)
                          for name, value in re.findall(r"(\w+) = (\d+)(?:,|$)", line)}
        self.plain, self.threads = self.constants["kBlock"], {}
        for call in re.finditer(r"(?<!define )\bDPTRAIN_LAUNCH(?:_SHARED|_FLAT)?\(", re.sub(r"//.*|#define.*(?:\\\n.*)*", "", text)):
            arguments = list(itertools.islice(split(call.string[call.end():]), 4))
            if len(arguments) < 4 or arguments[3] == "kBlock":
                continue
            kernel, block = re.match(r"\(?(\w+)", arguments[1])[1], arguments[3]
            threads = int(block) if block.isdigit() else self.constants.get(block)
            if kernel == "kernel" or threads is None:
                fail(f"DPTRAIN_LAUNCH of {arguments[1]} with blocks of {block}: name the kernel itself, and a constexpr int "
                     "or a number as its block")
            self.threads[kernel] = max(threads, self.threads.get(kernel, 0))

    def of(self, mangled):
        """By the name of the function in the mangled one."""
        return next((threads for name, threads in self.threads.items() if f"{len(name)}{name}" in mangled), self.plain)


# ---- names and tables

def short(name):
    """Without return type, arguments, and what is the same in all: map_kernel<8, Scale, bf16, bf16>."""
    name = re.sub(r"\(anonymous namespace\)::|dptrain::kernels::(?:cuda::)?|std::", "", name)
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:at]
            break
    return re.sub(r"^void ", "", name).replace("> >", ">>").replace("unsigned char", "u8").replace("unsigned", "u32")


def demangled(names):
    filt = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if filt is None:
        print("compiled_kernels: nothing compared: there is no c++filt (binutils)")
        sys.exit(77)
    run = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def compiled(paths):
    """({architecture: {(source, kernel): Kernel}}, release of nvcc, architectures found)."""
    blocks = Blocks(file.read_text(encoding="utf-8") for file in sorted(KERNELS.rglob("*")) if file.suffix in (".cu", ".h"))

    keys, kernels, releases, found = [], [], set(), set()
    for path in paths:
        source = re.sub(r".*\.dir/|\.cu\.o$", "", str(path))
        for architecture, image in cubins(path):
            found.add(architecture)
            if architecture not in LIMITS:
                continue

            def warps_of(name, bound, registers, shared, limits=LIMITS[architecture]):
                return warps_at_once(limits, bound or blocks.of(name), registers, shared)

            cubin = Cubin(image)
            releases.add(cubin.release())
            for name, kernel in cubin.kernels(architecture, warps_of):
                keys.append((architecture, source, name))
                kernels.append(kernel)
    names = demangled([name for _, _, name in keys]) if keys else []
    tables = collections.defaultdict(dict)
    for (architecture, source, _), name, kernel in zip(keys, names, kernels):
        key = (source, short(name))
        if key in tables[architecture]:
            fail(f"two kernels of {source}.cu are called {key[1]}; give one another name")
        tables[architecture][key] = kernel
    return tables, "and ".join(sorted(releases)), found


def lines_of(table, architecture, release):
    yield f"# sm_{architecture}, nvcc {release}; what the columns are, and how to write this anew: scripts/gpu/compiled_kernels.py"
    yield "\t".join(COLUMNS)
    for (source, name), kernel in sorted(table.items()):
        pairs = ["{}/{}".format(*pair) for pair in (kernel.load, kernel.store)]
        yield "\t".join([source, name, *map(str, kernel[:4]), *pairs, str(kernel.flight)])


def read(lines):
    """(table, architecture, release)"""
    head = re.match(r"# sm_(\d+), nvcc ([\w. ]+);", lines[0]) if lines else None
    if head is None or int(head[1]) not in LIMITS or lines[1].split("\t") != list(COLUMNS):
        fail("the table does not begin with '# sm_90, nvcc ...;' and a line of columns")
    table = {}
    for line in lines[2:]:
        source, name, *figures = line.split("\t")
        pairs = [tuple(map(int, pair.split("/"))) for pair in figures[4:6]]
        table[source, name] = Kernel(*map(int, figures[:4]), *pairs, int(figures[6]))
    return table, int(head[1]), head[2]


# ---- comparison

def worse(was, now, same_release):
    """What is worse of a kernel, in words."""
    if now.stack > was.stack:
        yield f"stack {was.stack} -> {now.stack} bytes: registers spill, or an array lies in local memory"
    if same_release:
        if now.regs > was.regs:
            yield f"registers {was.regs} -> {now.regs}"
        if now.shared > was.shared:
            yield f"shared memory {was.shared} -> {now.shared} bytes"
        if now.warps < was.warps:
            yield f"warps at once {was.warps} -> {now.warps}"
        if now.flight < was.flight:
            yield f"bytes in flight {was.flight} -> {now.flight}"
    for word, old, new in (("loads", was.load, now.load), ("stores", was.store, now.store)):
        if new[0] < old[0] if same_release else new[0] == 0 < old[0]:
            yield f"128-bit {word} {old[0]} of {old[1]} -> {new[0]} of {new[1]}"


def compare(was, now, same_release):
    """(lines of what is worse, number of kernels that are better)"""
    lines, better = [], 0
    for key in sorted(was.keys() | now.keys()):
        where = "{}.cu: {}".format(*key)
        if key not in now:
            lines.append(f"{where}: is in the table, and is not compiled")
        elif key not in was:
            new = now[key]
            lines.append(f"{where}: is not in the table ({new.regs} registers, stack {new.stack}, {new.warps} warps)")
        elif words := list(worse(was[key], now[key], same_release)):
            lines.append(f"{where}: " + ", ".join(words))
        else:
            better += any(worse(now[key], was[key], same_release))
    return lines, better


# ---- other GPUs

def bound_of(main, architecture):
    """What a kernel of another GPU may take, where nothing is said of it. Bytes in flight are compared for one GPU only."""
    return main._replace(warps=min(main.warps, LIMITS[architecture][1]), flight=0)


def costs_more(bound, now, same_release=True):
    """What another GPU's kernel takes beyond its bound, in words. Registers are what warps say of them."""
    for words in worse(bound._replace(regs=max(bound.regs, now.regs)), now, same_release):
        yield words.replace("warps at once", f"{now.regs} registers, warps at once")


def exceptions(main, tables):
    """{(source, kernel): {architecture: Kernel}}: what is worse on others than on the table's own."""
    found = collections.defaultdict(dict)
    for architecture in OTHERS:
        for key, now in tables.get(architecture, {}).items():
            if key in main and any(costs_more(bound_of(main[key], architecture), now)):
                found[key][architecture] = now._replace(flight=0)
    return found


def compare_other(architecture, main, known, now, same_release):
    """Lines of what is worse on another GPU."""
    for key in sorted(main.keys() | now.keys()):
        where = "sm_{}: {}.cu: {}".format(architecture, *key)
        if key not in now:
            yield f"{where}: is in the table, and is not compiled"
        elif key not in main:
            yield f"{where}: is not in the table"
        else:
            bound = known.get(key, {}).get(architecture)
            words = list(worse(bound, now[key], same_release) if bound else
                         costs_more(bound_of(main[key], architecture), now[key], same_release))
            if words:
                yield f"{where}: " + ", ".join(words)


def others_path(table_path):
    return table_path.with_name(table_path.stem + "_others" + table_path.suffix)


def cell(kernel):
    if kernel is None:
        return "-"
    return "{} {} {} {} {}/{} {}/{}".format(*kernel[:4], *kernel.load, *kernel.store)


def lines_of_others(known):
    yield "# where other GPUs have it worse than the table beside this one: regs stack shared warps load store, each as there"
    yield "\t".join(OTHER_COLUMNS)
    for key, cells in sorted(known.items()):
        yield "\t".join([*key, *(cell(cells.get(architecture)) for architecture in OTHERS)])


def read_others(lines):
    if len(lines) < 2 or lines[1].split("\t") != list(OTHER_COLUMNS):
        fail("the table of other GPUs does not begin with a comment and a line of columns: " + ", ".join(OTHER_COLUMNS))
    known = {}
    for line in lines[2:]:
        source, name, *cells = line.split("\t")
        figures = [re.split("[ /]", one) for one in cells]
        known[source, name] = {a: Kernel(*map(int, f[:4]), *(tuple(map(int, f[i:i + 2])) for i in (4, 6)), 0)
                               for a, f in zip(OTHERS, figures) if len(f) > 1}
    return known


def names_of(architectures):
    return ", ".join(f"sm_{a}" for a in sorted(architectures)) or "no GPU (PTX alone)"


def check(table_path, objects):
    was, architecture, release = read(table_path.read_text(encoding="utf-8").splitlines())
    tables, compiled_by, found = compiled(objects)
    if not tables:
        print(f"compiled_kernels: nothing compared: expected objects for {names_of(LIMITS)}, found objects for {names_of(found)}")
        sys.exit(77)
    same = compiled_by == release
    lines, better = compare(was, tables[architecture], same) if architecture in tables else ([], 0)
    known = read_others(others_path(table_path).read_text(encoding="utf-8").splitlines())
    for other in sorted(tables.keys() - {architecture}):
        lines += compare_other(other, was, known, tables[other], same)
    for line in lines:
        print(line)
    if not same:
        print(f"registers, shared memory and warps were not compared: nvcc {compiled_by}, the table is of nvcc {release}")
    if found - LIMITS.keys():
        print(f"not compared: {names_of(found - LIMITS.keys())}")
    print(f"{max(map(len, tables.values()))} kernels of {names_of(tables)}, {len(lines)} not as in the table, {better} better")
    if lines:
        print("If that is what you want: cmake --build --preset release --target dptrain_kernel_table")
        sys.exit(1)


def write(table_path, objects, architecture=90):
    tables, release, found = compiled(objects)
    now = tables.get(architecture)
    if not now:
        fail(f"the objects are for {names_of(found)}; set CMAKE_CUDA_ARCHITECTURES to {architecture}-real")
    table_path.write_text("\n".join(lines_of(now, architecture, release)) + "\n", encoding="utf-8")
    print(f"{table_path}: {len(now)} kernels")
    beside = others_path(table_path)
    known = read_others(beside.read_text(encoding="utf-8").splitlines()) if beside.exists() else {}
    # What the objects say nothing of stays.
    merged = {key: {a: k for a, k in cells.items() if a not in tables} for key, cells in known.items() if key in now}
    for key, cells in exceptions(now, tables).items():
        merged.setdefault(key, {}).update(cells)
    merged = {key: cells for key, cells in merged.items() if cells}
    beside.write_text("\n".join(lines_of_others(merged)) + "\n", encoding="utf-8")
    kept = [a for a in OTHERS if a not in tables]
    print(f"{beside}: {len(merged)} kernels" + (f"; as it was of {names_of(kept)}, which the objects are not for" if kept else ""))


# ---- self-test

def self_test():
    plain = Kernel(32, 0, 0, 64, (2, 4), (1, 2), 0)
    key = ("pool", "max_kernel<float, 4>")

    def load(board, width):
        return 0x981, width << 9 | board << 46

    def wait(*boards):
        return 0x221, sum(1 << 52 + board for board in boards) | 7 << 46

    def branch(by):  # in instructions, from the next one
        offset = by * 4
        return 0x947 | (offset & 0xFF) << 16 | (offset >> 8 & 0x3FFFFFFF) << 34, offset >> 38 & 0x3FFFF | 7 << 46

    looping = [wait(), load(0, 4), wait(0), load(1, 4), load(2, 5), wait(1, 2), load(3, 2), branch(-7), branch(-1)]

    def says(now, same=True):
        return compare({key: plain}, now, same)

    cases = [
        (says({key: plain}) == ([], 0), "the same"),
        (says({key: plain._replace(regs=30)}) == ([], 1), "better"),
        (says({key: plain._replace(regs=40)})[0] == ["pool.cu: max_kernel<float, 4>: registers 32 -> 40"], "registers"),
        (says({key: plain._replace(regs=40)}, False) == ([], 0), "registers of another release"),
        ("stack 0 -> 8 bytes" in says({key: plain._replace(stack=8)}, False)[0][0], "a spill"),
        ("warps at once 64 -> 48" in says({key: plain._replace(warps=48)})[0][0], "occupancy"),
        ("shared memory 0 -> 64" in says({key: plain._replace(shared=64)})[0][0], "shared memory"),
        ("128-bit loads 2 of 4 -> 1 of 8" in says({key: plain._replace(load=(1, 8))})[0][0], "fewer wide loads"),
        (says({key: plain._replace(load=(1, 8))}, False)[0] == [], "fewer wide loads of another release"),
        ("128-bit stores 1 of 2 -> 0 of 8" in says({key: plain._replace(store=(0, 8))}, False)[0][0], "no wide store"),
        (compare({key: plain._replace(flight=8192)}, {key: plain._replace(flight=4096)}, True)[0] ==
         ["pool.cu: max_kernel<float, 4>: bytes in flight 8192 -> 4096"], "fewer bytes in flight"),
        ("is not compiled" in says({})[0][0], "gone"),
        ("is not in the table" in says({key: plain, ("pool", "new"): plain})[0][0], "new"),
        (read(list(lines_of({key: plain}, 90, "13.0"))) == ({key: plain}, 90, "13.0"), "a table read back"),
        # LDG.E.128 R4 and LDG.E.64 R8, STG.E.128 and STG.E.U16, and an instruction that is neither, as nvdisasm prints them
        (accesses([(0x1218047981, 0x0000000C00), (0x1202087981, 0x0000000A00), (0x0402007986, 0x0000000D00),
                   (0x000A007986, 0x0000000500), (0x0000007918, 0x0000000000)]) == ((1, 2), (1, 2)), "instructions"),
        (list(loops(looping)) == [(1, 7)], "a loop"),
        # the first 4 bytes are alone in flight; 4 + 8 are together, with 2 that the loop did not wait for
        (most_in_flight(looping) == 14, "bytes in flight"),
        (most_in_flight(looping[:5]) == 12, "bytes in flight without a loop"),
        (most_in_flight([load(0, 6), load(1, 6), *looping]) == 14, "bytes in flight before a loop"),
        (most_in_flight([load(4, 1), *looping, branch(-11)]) == 14, "bytes in flight of an inner loop"),
        (warps_at_once(LIMITS[90], 256, 32, 0) == 64, "all warps"),       # 65536 / (32 * 32) = 64
        (warps_at_once(LIMITS[90], 256, 33, 0) == 48, "registers in pieces"),  # 40 a thread: 51 warps, 6 blocks of 8
        (warps_at_once(LIMITS[90], 1, 16, 0) == 32, "blocks of a warp"),
        (warps_at_once(LIMITS[90], 128, 16, 48 << 10) == 16, "shared memory of blocks"),  # 228 KiB / 49 KiB = 4 blocks
        (short("void dptrain::kernels::cuda::map_kernel<8, dptrain::kernels::cuda::(anonymous namespace)::F<int> >(long)")
         == "map_kernel<8, F<int>>", "a name"),
    ]
    taken = plain._replace(regs=80, warps=24)
    known = {key: {120: taken}}

    def other(now, known=known, same=True):
        return list(compare_other(120, {key: plain}, known, {key: now}, same))

    cases += [
        (other(taken) == [] and other(plain._replace(warps=48), {}) == [], "another GPU, as bound"),  # of 48 it can
        (other(taken, {}) == ["sm_120: pool.cu: max_kernel<float, 4>: 80 registers, warps at once 48 -> 24"], "its warps"),
        ("registers 80 -> 88" in other(taken._replace(regs=88))[0], "its registers beyond what was named"),
        ("stack 0 -> 8" in other(taken._replace(stack=8), same=False)[0], "its spills"),
        ("is not compiled" in list(compare_other(120, {key: plain}, {}, {}, True))[0], "gone there"),
        (exceptions({key: plain}, {80: {key: plain}, 120: {key: taken}}) == known, "what is written of others"),
        (read_others(list(lines_of_others(known))) == known, "the table of others read back"),
    ]
    gpus = re.findall(r"^ *set\(_gpus \"(.*)\"\)", (KERNELS.parents[1] / "cmake" / "Gpu.cmake").read_text(encoding="utf-8"), re.M)
    default = {int(gpu) for one in gpus for gpu in re.findall(r"\d+", one)}
    cases.append((len(gpus) == 2 and default == set(LIMITS), f"GPUs of cmake/Gpu.cmake are known here: {names_of(default)}"))
    blocks = Blocks(["inline constexpr int kBlock = 256;", "constexpr int kA = 128, kB = 32;\n// DPTRAIN_LAUNCH(at, c, 1, odd)\n"
                     "DPTRAIN_LAUNCH(at, (wide_kernel<T, v>), f(a, b), kA, x); DPTRAIN_LAUNCH_FLAT(at, kernel, g, kBlock, x);"])
    cases += [(blocks.of("_ZN3foo11wide_kernelIfEE") == 128, "a block by name"), (blocks.of("_ZN3foo5otherE") == 256, "kBlock")]
    wrong = [what for right, what in cases if not right]
    if wrong:
        fail("self-test: " + ", ".join(wrong))
    print(f"self-test: {len(cases)} cases")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) < 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    table, objects = pathlib.Path(arguments[0]), [pathlib.Path(a) for a in arguments[1:]]
    (write if "--write" in sys.argv else check)(table, objects)


if __name__ == "__main__":
    main()

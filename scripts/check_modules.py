#!/usr/bin/env python3
"""Checks every #include of src/ and kernels/ against the table of modules (src/README.md).

    scripts/check_modules.py               check this repository; exit 1 if an include is not allowed
    scripts/check_modules.py --depth       print the longest chain of includes, and how many sources reach the widest headers
    scripts/check_modules.py --self-test   check the checker on planted includes

An include may point into its own module or a lower one, never up and never sideways. Third-party headers are allowed
only in the module that owns the library, most of them only in .cpp files, some in a single file of the module.
"""

import collections
import dataclasses
import pathlib
import re
import sys
import tempfile

LEVELS = {
    "core": 0,
    "config": 1, "plot": 1,
    "nn": 2,
    "graph": 3,
    "plan": 4, "formats": 4,
    "backend": 5, "data": 5,
    "runtime": 6,
    "distributed": 7,
    "experiment": 8,
    "session": 9,
    "bench": 10, "train": 10,
    "evaluation": 11, "report": 11,
    "sweep": 12, "init": 12,
    "cli": 13,
}

# Who may call kernels/cpu. kernels/cuda is called by the GPU device alone. backend/ops calls the kernels of the backend that
# it is compiled for, through DPTRAIN_KERNELS(pool.h). Files directly in kernels/ are shared.
CALL_KERNELS = {"backend", "data", "runtime", "distributed"}
GPU_FOLDERS = ("gpu", "cuda", "emu")   # of backend/

# Headers directly in kernels/ that modules without kernel calls include.
SHARED_KERNEL_HEADERS = {("core", "kernels/philox.h"), ("nn", "kernels/activation_kind.h"), ("nn", "kernels/losses.h")}

# Kernels include one header of src/: the number types.
SRC_HEADERS_OF_KERNELS = {"core/dtype.h"}

# The most headers of this repository in a chain of includes.
MAX_DEPTH = 14

# The file of backend/ops that may include a backend's folder.
KERNEL_OP = "src/backend/ops/kernel_op.h"


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    headers: str            # pattern of the include's text
    places: tuple           # patterns of files that may include it, relative to the root
    single: bool = False    # at most one file of each module


LIBRARIES = [
    Library("fmt", r"fmt/", (r"src/core/format\.h",)),
    Library("spdlog", r"spdlog/", (r"src/core/\w+\.cpp",)),
    Library("yaml-cpp", r"yaml-cpp/", (r"src/config/\w+\.cpp",), single=True),
    Library("nlohmann-json (declarations)", r"nlohmann/json_fwd\.hpp", (r"src/(core|config|data|formats|session|bench|train|evaluation|report|sweep|cli)/",)),
    Library("nlohmann-json", r"nlohmann/", (r"src/(core|config|data|formats|session|bench|train|evaluation|report|sweep|cli)/(\w+/)?\w+\.cpp",)),
    Library("oneDNN", r"(oneapi/)?dnnl", (r"src/backend/cpu/",)),
    Library("Google Benchmark", r"benchmark/", (r"src/backend/cpu/bench/",)),
    Library("Highway", r"hwy/", (r"kernels/cpu/",)),
    Library("HDF5", r"(hdf5|H5\w+)\.h", (r"src/(formats|data)/(\w+/)?\w+\.cpp",), single=True),
    Library("zlib", r"zlib\.h", (r"src/data/(\w+/)?(cache_disk|gzip_file|image_png)\.cpp", r"src/core/(zip|crc32)\.cpp", r"src/data/table/bytes\.cpp")),
    Library("fast_float", r"fast_float/", (r"src/data/table/\w+\.cpp",), single=True),
    Library("FarmHash", r"farmhash\.h", (r"src/data/encoders/\w+\.cpp",), single=True),
    Library("libjpeg-turbo", r"(turbojpeg|jpeglib|jerror)\.h", (r"src/data/(\w+/)?\w+\.cpp",), single=True),
    Library("libpng", r"png\.h", (r"src/data/(\w+/)?\w+\.cpp",), single=True),
    Library("stb_image", r"(stb/)?stb_image\.h", (r"src/data/(\w+/)?\w+\.cpp",), single=True),
    Library("stb_image_write", r"(stb/)?stb_image_write\.h", (r"src/plot/\w+\.cpp",), single=True),
    Library("MPI", r"mpi\.h", (r"src/distributed/mpi/\w+\.cpp",), single=True),
    Library("ONNX and protobuf", r"(onnx|google/protobuf)/", (r"src/formats/onnx/module/\w+\.cpp",), single=True),
    Library("FFmpeg", r"lib(av\w+|swscale)/", (r"src/data/video/libav/\w+\.(cpp|h)",)),
    Library("CLI11", r"CLI/", (r"src/cli/\w+\.cpp",)),
    Library("NCCL", r"nccl\.h", (r"src/distributed/nccl\w*\.(cpp|h)",)),
    Library("CUDA", r"cu(da|dnn|blas|pti|rand)|cooperative_groups|nv(rtc|tx)",
            (r"src/backend/cuda/", r"kernels/cuda/", r"src/distributed/nccl\w*\.(cpp|h)")),
    Library("sanitizers", r"sanitizer/", (r"kernels/cuda/simt\w*\.(cpp|h)", r"src/core/poisoning\.h")),
]

POSIX = set("""math.h link.h dirent.h dlfcn.h errno.h execinfo.h fcntl.h fnmatch.h glob.h poll.h pthread.h pwd.h sched.h signal.h
    spawn.h termios.h time.h ucontext.h unistd.h cxxabi.h malloc.h immintrin.h cpuid.h""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
KERNELS_INCLUDE = re.compile(r"^\s*#\s*include\s+DPTRAIN_KERNELS\(([\w./]+)\)")
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".inc"}


def place_of(path):
    """('src', module) or ('kernels', folder) of a file named relative to the root."""
    parts = path.parts
    return parts[0], parts[1] if len(parts) > 2 else ""


def folder_of_backend(path):
    """'cpu', 'gpu', ... for files of src/backend/<folder>/; '' for all others."""
    return path.parts[2] if path.parts[:2] == ("src", "backend") and len(path.parts) > 3 else ""


def check_kernels_include(path, target):
    """An include of kernels/... by any file; None if it is allowed."""
    top, module = place_of(path)
    side = target.split("/")[1] if target.count("/") > 1 else ""   # cpu, cuda, or shared ground
    if top == "kernels":
        if side and side != module:
            return f"kernels/{module or '*.h'} must not include kernels/{side}"
        return None
    if (module, target) in SHARED_KERNEL_HEADERS:
        return None
    if module not in CALL_KERNELS:
        return f"module '{module}' must not call kernels; {', '.join(sorted(CALL_KERNELS))} may"
    if side and folder_of_backend(path) == "ops":
        return f"backend/ops includes kernels by DPTRAIN_KERNELS({target.split('/', 2)[2]})"
    if side == "cuda" and folder_of_backend(path) not in GPU_FOLDERS:
        return "kernels/cuda is called by src/backend/{gpu,cuda,emu} alone"
    return None


def check_module_include(path, target):
    """An include written as "module/..."; None if it is allowed."""
    top, module = place_of(path)
    other = target.split("/")[0]
    if other not in LEVELS:
        return f'"{target}" names no module; includes are written from the root: "core/error.h", "kernels/cpu/pool.h"'
    if top == "kernels":
        if target in SRC_HEADERS_OF_KERNELS and path.parts[1] in ("cpu", "cuda"):
            return None
        return f"kernels include no module, found an include of module '{other}'"
    backend = re.match(r"backend/(ops|cpu|gpu|cuda|emu)/", target)
    if backend:
        if module != "backend":
            return f"backend/{backend[1]}/ is private to module 'backend'; include a header of backend/ itself"
        here = folder_of_backend(path)
        # The CUDA and the emulated device are both built from backend/gpu, which depends on neither.
        built_from = backend[1] == "ops" or backend[1] == "gpu" and here in GPU_FOLDERS
        if here and here != backend[1] and not built_from and not (str(path) == KERNEL_OP and backend[1] == "gpu"):
            return f"backend/{here} must not include backend/{backend[1]}"
    if other == module or LEVELS[other] < LEVELS[module]:
        return None
    direction = "up" if LEVELS[other] > LEVELS[module] else "sideways"
    return f"'{module}' (level {LEVELS[module]}) must not include {direction} into '{other}' (level {LEVELS[other]})"


def library_of(target):
    return next((library for library in LIBRARIES if re.match(library.headers, target)), None)


def check_foreign_include(path, target):
    """An include that is neither a module's nor a kernel's; None if it is allowed."""
    library = library_of(target)
    if library:
        if any(re.match(place + ("$" if place.endswith(("cpp", "h")) else ""), str(path)) for place in library.places):
            return None
        return f"{library.name} is not allowed here; {' or '.join(library.places)} may include <{target}>"
    standard = "." not in target or target in POSIX or target.startswith(("sys/", "linux/"))
    return None if standard else f"<{target}> belongs to no library of the table"


def check_include(path, quote, target):
    if target == "dptrain_version.h":
        return None if place_of(path)[0] == "src" else "kernels include no module"
    if target.startswith("kernels/"):
        return check_kernels_include(path, target)
    if quote == '"' and not library_of(target):
        return check_module_include(path, target)
    return check_foreign_include(path, target)


def check_tree(root):
    """All messages 'file:line: text' of the tree, in order of the files."""
    messages = []
    users = {}   # (library, module) -> first file, for libraries that one file owns
    files = sorted(p for top in ("src", "kernels") for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    for file in files:
        path = file.relative_to(root)
        if path.parts[0] == "src" and place_of(path)[1] not in LEVELS:
            messages.append(f"{path}:1: '{place_of(path)[1]}' is no module of the table")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            by_macro = KERNELS_INCLUDE.match(line)
            if by_macro and folder_of_backend(path) != "ops":
                messages.append(f"{path}:{number}: DPTRAIN_KERNELS is for backend/ops alone")
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found[2]
            problem = check_include(path, found[1], target)
            library = library_of(target)
            if not problem and library and library.single:
                owner = users.setdefault((library.name, place_of(path)), path)
                if owner != path:
                    problem = f"{library.name} belongs to one file of the module, which is {owner}"
            if problem:
                messages.append(f"{path}:{number}: {problem}")
    return messages, len(files)


# (file, include line, part of the message expected, or None where it is allowed)
PLANTED = [
    ("src/core/error.h", "#include <string>", None),
    ("src/core/random.h", '#include "kernels/philox.h"', None),
    ("src/nn/activations.h", '#include "kernels/activation_kind.h"', None),
    ("src/core/b.h", '#include "kernels/activation_kind.h"', "must not call kernels"),
    ("src/core/queue.h", '#include "config/node.h"', "must not include up into 'config'"),
    ("src/core/a.h", '#include "kernels/cpu/pool.h"', "must not call kernels"),
    ("src/core/format.h", "#include <fmt/format.h>", None),
    ("src/config/a.h", "#include <fmt/format.h>", "fmt is not allowed here"),
    ("src/config/yaml.cpp", "#include <yaml-cpp/yaml.h>", None),
    ("src/config/yaml2.cpp", "#include <yaml-cpp/yaml.h>", "belongs to one file of the module"),
    ("src/config/yaml.h", "#include <yaml-cpp/yaml.h>", "yaml-cpp is not allowed here"),
    ("src/config/schema.cpp", "#include <nlohmann/json.hpp>", None),
    ("src/config/schema.h", "#include <nlohmann/json.hpp>", "nlohmann-json is not allowed here"),
    ("src/nn/a.cpp", '#include "graph/graph.h"', "must not include up into 'graph'"),
    ("src/graph/a.cpp", '#include "nn/loss.h"', None),
    ("src/plan/a.cpp", '#  include "backend/device.h"', "must not include up into 'backend'"),
    ("src/formats/a.cpp", '#include "plan/plan.h"', "must not include sideways into 'plan'"),
    ("src/nn/b.cpp", '#include "formats/keras/keras_values.h"', "must not include up into 'formats'"),
    ("src/formats/b.cpp", '#include "formats/keras/keras_config.h"', None),
    ("src/data/a.cpp", '#include "backend/store.h"', "sideways"),
    ("src/data/b.cpp", '#include "kernels/cpu/gather.h"', None),
    ("src/data/c.cpp", '#include "kernels/cuda/gather.h"', "src/backend/{gpu,cuda,emu} alone"),
    ("src/runtime/c.cpp", '#include "kernels/step_state.h"', None),
    ("src/train/c.cpp", '#include "kernels/step_state.h"', "must not call kernels"),
    ("src/backend/ops/kernel_op.h", '#include "backend/gpu/gpu_device.h"\n#include "backend/cuda/cuda_runtime.h"', "backend/ops must not include backend/cuda"),
    ("src/backend/cpu/conv2d.cpp", "#include <oneapi/dnnl/dnnl.hpp>", None),
    ("src/backend/device.cpp", "#include <oneapi/dnnl/dnnl.hpp>", "oneDNN is not allowed here"),
    ("src/backend/cpu/a.cpp", '#include "backend/cuda/stream.h"', "backend/cpu must not include backend/cuda"),
    ("src/backend/cpu/b.cpp", '#include "backend/gpu/runtime.h"', "backend/cpu must not include backend/gpu"),
    ("src/backend/cpu/c.cpp", '#include "kernels/cuda/pool.h"', "src/backend/{gpu,cuda,emu} alone"),
    ("src/backend/gpu/a.cpp", '#include "kernels/cuda/pool.h"', None),
    ("src/backend/gpu/b.cpp", '#include "backend/cuda/cuda_runtime.h"', "backend/gpu must not include backend/cuda"),
    ("src/backend/gpu/c.cpp", "#include <cuda_runtime.h>", "CUDA is not allowed here"),
    ("src/backend/emu/a.cpp", '#include "backend/gpu/runtime.h"', None),
    ("src/backend/emu/b.cpp", '#include "kernels/cuda/simt.h"', None),
    ("src/backend/emu/c.cpp", "#include <cuda_runtime.h>", "CUDA is not allowed here"),
    ("src/backend/cuda/a.cpp", '#include "backend/gpu/runtime.h"', None),
    ("src/backend/cuda/b.cpp", "#include <cudnn.h>", None),
    ("src/backend/cuda/c.cpp", '#include "backend/emu/emu_runtime.h"', "backend/cuda must not include backend/emu"),
    ("src/backend/cuda/d.cpp", "#include <nccl.h>", "NCCL is not allowed here"),
    ("src/backend/ops/a.cpp", "#include DPTRAIN_KERNELS(pool.h)", None),
    ("src/backend/ops/b.cpp", '#include "kernels/cpu/pool.h"', "DPTRAIN_KERNELS(pool.h)"),
    ("src/backend/ops/c.cpp", '#include "kernels/cuda/pool.h"', "DPTRAIN_KERNELS(pool.h)"),
    ("src/backend/ops/d.cpp", '#include "kernels/geometry.h"', None),
    ("src/backend/ops/e.cpp", '#include "backend/cpu/cpu_device.h"', "backend/ops must not include backend/cpu"),
    ("src/backend/gpu/d.cpp", '#include "backend/ops/kernel_op.h"', None),
    ("src/backend/cpu/e.cpp", "#include DPTRAIN_KERNELS(pool.h)", "for backend/ops alone"),
    ("src/distributed/nccl_api.cpp", "#include <nccl.h>", None),
    ("src/distributed/mean.cpp", "#include <nccl.h>", "NCCL is not allowed here"),
    ("src/distributed/nccl.cpp", "#include <cuda_runtime.h>", None),
    ("src/backend/cpu/bench/a.cpp", "#include <benchmark/benchmark.h>", None),
    ("src/backend/cpu/d.cpp", "#include <benchmark/benchmark.h>", "Google Benchmark is not allowed here"),
    ("src/runtime/a.cpp", '#include "backend/cpu/stream.h"', "private to module 'backend'"),
    ("src/runtime/b.cpp", '#include "backend/device.h"', None),
    ("src/experiment/a.cpp", '#include "session/session.h"', "must not include up into 'session'"),
    ("src/session/a.cpp", '#include "experiment/experiment.h"', None),
    ("src/session/b.cpp", '#include "train/run_directory.h"', "must not include up into 'train'"),
    ("src/train/a.cpp", '#include "trainer.h"', "names no module"),
    ("src/report/a.cpp", '#include "train/curves.h"', None),
    ("src/train/d.cpp", '#include "report/page.h"', "must not include up into 'report'"),
    ("src/train/b.cpp", "#include <boost/any.hpp>", "belongs to no library"),
    ("src/cli/main.cpp", '#include "train/trainer.h"', None),
    ("src/cli/b.cpp", "#include <CLI/CLI.hpp>", None),
    ("src/cli/c.cpp", "#include <sys/stat.h>", None),
    ("kernels/cpu/a.h", '#include "core/shape.h"', "include no module"),
    ("kernels/cpu/b.cpp", "#include <hwy/highway.h>", None),
    ("kernels/cpu/c.cpp", '#include "kernels/cuda/a.h"', "must not include kernels/cuda"),
    ("kernels/cpu/e.cpp", '#include "kernels/losses.h"', None),
    ("src/nn/a.h", '#include "kernels/losses.h"', None),
    ("kernels/losses.h", '#include "kernels/cpu/a.h"', "must not include kernels/cpu"),
    ("kernels/cpu/d.h", '#include "core/dtype.h"', None),
    ("kernels/d.h", '#include "core/dtype.h"', "include no module"),
    ("kernels/cuda/a.h", '#include "core/dtype.h"', None),
    ("kernels/cuda/b.cu", '#include "core/shape.h"', "include no module"),
    ("kernels/cuda/c.cu", '#include "kernels/step_state.h"', None),
    ("kernels/cuda/d.cu", "#include <cuda_runtime.h>", None),
    ("src/plot/axis.cpp", '#include "config/node.h"', "must not include sideways into 'config'"),
    ("src/cellar/a.h", "#include <string>", "is no module of the table"),
]


class Includes:
    """The includes of the headers of this repository by its sources."""

    def __init__(self, root):
        files = {str(p.relative_to(root)): p for top in ("src", "kernels") for p in (root / top).rglob("*") if p.suffix in SUFFIXES}
        self.includes = {}
        for name, path in files.items():
            targets = [found[2] for found in map(INCLUDE.match, path.read_text(encoding="utf-8").splitlines()) if found]
            self.includes[name] = [c for t in targets for c in (f"src/{t}", t) if c in files]
        self.sources = [name for name in files if not name.endswith((".h", ".hpp", ".cuh"))]
        self.chains = {}

    def chain(self, name):
        """The longest chain of headers below a file."""
        if name not in self.chains:
            self.chains[name] = []   # a cycle ends here
            chains = [[header, *self.chain(header)] for header in self.includes[name]]
            self.chains[name] = max(chains, key=len, default=[])
        return self.chains[name]

    def reached(self, name, seen):
        for header in self.includes[name]:
            if header not in seen:
                seen.add(header)
                self.reached(header, seen)
        return seen

    def deepest(self):
        return max(self.sources, key=lambda name: len(self.chain(name)), default=None)

    def check(self):
        """A message if the longest chain is too long."""
        name = self.deepest()
        if name is None or len(self.chain(name)) <= MAX_DEPTH:
            return []
        chain = " > ".join(self.chain(name))
        return [f"{name}:1: a chain of {len(self.chain(name))} headers, the limit is {MAX_DEPTH}: {chain}"]

    def report(self):
        name = self.deepest()
        print(f"deepest: {len(self.chain(name))} headers, {name}", *self.chain(name), sep="\n  ")
        counts = collections.Counter(header for source in self.sources for header in self.reached(source, set()))
        for header, count in counts.most_common(20):
            print(f"{count:5} of {len(self.sources)} sources reach {header}")


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for file, line, _ in PLANTED:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(f"// planted\n{line}\n", encoding="utf-8")
        messages, _ = check_tree(root)
        for i in range(MAX_DEPTH + 1):
            (root / f"src/core/chain{i}.h").write_text(f'#include "core/chain{i + 1}.h"\n' if i < MAX_DEPTH else "", encoding="utf-8")
        (root / "src/core/chain.cpp").write_text('#include "core/chain1.h"\n', encoding="utf-8")
        if Includes(root).check():
            failures.append(f"a chain of {MAX_DEPTH} headers is allowed")
        (root / "src/core/chain.cpp").write_text('#include "core/chain0.h"\n', encoding="utf-8")
        if not Includes(root).check():
            failures.append(f"a chain of {MAX_DEPTH + 1} headers must be refused")
    for file, line, expected in PLANTED:
        found = [message for message in messages if message.startswith(f"{file}:")]
        if expected is None and found:
            failures.append(f"{line} in {file} is allowed, found: {found[0]}")
        if expected is not None and not any(expected in message for message in found):
            failures.append(f"{line} in {file} must be refused with '{expected}', found: {found}")
    for failure in failures:
        print(failure)
    print(f"check_modules: self-test, {len(PLANTED)} planted includes, {len(failures)} misjudged")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--depth"]:
        Includes(root).report()
        return 0
    if sys.argv[1:]:
        print(__doc__)
        return 2
    messages, files = check_tree(root)
    messages += Includes(root).check()
    for message in messages:
        print(message)
    print(f"check_modules: {files} files, {len(messages)} problems")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())

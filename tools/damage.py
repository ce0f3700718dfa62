# SPDX-License-Identifier: Apache-2.0
"""Passes damaged files to the functions that read them; each call must raise a Python error.

Run it with an interpreter that has OLYMPUS::

    python tools/damage.py --files 10000 --seed 0 --kinds export cache

For each kind of file it writes valid files, damages copies by `olympus_testing.damage`, and reads
the copies in a child process, which is restarted when it dies. For kinds that are data, every
second copy is changed in one part, and gets correct lengths and a correct checksum again, as an
attacker would do. Other checks must reject such a file, or it must run as a valid file. Exported
and frozen functions are read with `untrusted`. A finding is one of these:

- the process dies, or a file takes longer than 20 seconds of processor time;
- an event of Python's audit hooks shows that reading a file runs foreign code: it looks up pickled
  records, loads a library, starts a process, or opens a connection;
- more memory is requested than exists, because a size was used before it was checked;
- an internal error: an exception of a type that no caller expects, or with the text of an internal
  error.

The report has one line for each kind and outcome. The exit status is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import collections
import functools
import importlib.metadata
import io
import json
import os
import pathlib
import platform
import random
import re
import resource
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from differential.processes import Worker

from olympus_testing.damage import damaged

#: Maximal seconds of processor time for one file.
PATIENCE = 20
#: Bytes of address space that a child may allocate after its start.
MEMORY = 3 * 2**30
#: Number of files after which a child is replaced, so that loaded programs do not accumulate.
FILES_A_CHILD = 1000

EXPECTED = (
    *(ValueError, TypeError, RuntimeError, NotImplementedError, OSError, EOFError, KeyError),
    OverflowError,
    *(zipfile.BadZipFile, zlib.error),  # errors of NumPy's compressed format
)
INTERNAL = re.compile(
    "incompatible (function|constructor) arguments|truth value of an array|nanobind|NoneType"
    "|object has no attribute|RET_CHECK|unsupported operand|not subscriptable|not iterable"
)
# Events of audit hooks that reading data must not cause.
FOREIGN = re.compile(
    r"pickle\.|ctypes\.|subprocess\.|socket\.(connect|bind)|marshal\.|code\.__new__"
    r"|function\.__new__|os\.(system|exec|posix_spawn|spawn|fork|chmod|putenv)"
)

Files = dict[str, bytes]


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
      samples: good files, as pairs of the files of a folder and a function that reads and uses
        them; each is called with the folder.
      open: returns the parts of a file; None for machine code, which is trusted if its checksum
        holds.
      seal: makes a valid file from parts.
    """

    samples: list[tuple[Files, Callable[[pathlib.Path], object]]]
    open: Callable[[bytes], list[bytes]] | None = None
    seal: Callable[[list[bytes]], bytes] = b"".join


# ---- kinds of files ----


def exported_functions() -> Kind:
    """Makes exported functions with derivatives, loops, LAPACK, symbolic sizes, or keys."""
    import olympus
    import olympus.numpy as jnp
    from olympus import export, lax
    from olympus_export.functions.format import FORMAT_VERSION, LENGTHS, MAGIC

    x = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)
    square = x[:, :3] @ x[:, :3].T + np.eye(3, dtype=np.float32)

    def loop(x: Any) -> Any:
        return lax.scan(lambda carry, row: (carry + row.sum(), carry), 0.0, x)

    def tree(x: Any, scale: Any) -> Any:
        return {"a": jnp.sin(x) * scale, "b": (x.sum(), jnp.argsort(x[0]))}

    def draws(seed: Any) -> Any:
        return olympus.random.normal(olympus.random.key(seed), (4,))

    sized = olympus.ShapeDtypeStruct(export.symbolic_shape("a, b"), np.float32)
    blobs = [
        (bytes(export.export(olympus.jit(fun))(*specs).serialize(order)), args)
        for fun, specs, args, order in (
            (tree, (x, 2.0), (x, 2.0), 1),
            (loop, (x,), (x,), 0),
            (jnp.linalg.cholesky, (square,), (square,), 0),
            (lambda x: tuple(jnp.linalg.eigh(x)), (square,), (square,), 0),
            (lambda x: (x @ x.T).sum(0), (sized,), (x,), 0),
            (draws, (3,), (3,), 0),
        )
    ]

    def read(args: tuple, folder: pathlib.Path) -> object:
        exported = export.deserialize((folder / "file").read_bytes(), untrusted=True)
        return olympus.block_until_ready(olympus.jit(exported.call)(*args))

    def opened(contents: bytes) -> list[bytes]:
        start = len(MAGIC) + LENGTHS.size
        _, _, length = LENGTHS.unpack_from(contents, len(MAGIC))
        header = json.loads(contents[start : start + length])
        parts, position = [json.dumps(header["exported"]).encode()], start + length
        for length in header["lengths"]:
            parts.append(contents[position : position + length])
            position += length
        return parts

    def sealed(parts: list[bytes]) -> bytes:
        lengths = json.dumps([len(part) for part in parts[1:]]).encode()
        header = b'{"exported":' + parts[0] + b',"lengths":' + lengths + b"}"
        body = header + b"".join(parts[1:])
        return MAGIC + LENGTHS.pack(FORMAT_VERSION, zlib.crc32(body), len(header)) + body

    samples = [({"file": blob}, functools.partial(read, args)) for blob, args in blobs]
    return Kind(samples, opened, sealed)


def frozen_functions() -> Kind:
    """Makes frozen functions: with weights inside the file, in a separate file, and with LAPACK."""
    import olympus
    import olympus.numpy as jnp
    from olympus_export.frozen import container, safetensors

    x = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)
    closed_over = jnp.arange(8.0).reshape(4, 2)

    def model(params: Any, x: Any) -> Any:
        return {"y": jnp.tanh(x @ params["w"] + params["b"]), "z": (x @ closed_over).sum(0)}

    def solved(x: Any) -> Any:
        return jnp.linalg.cholesky(x @ x.T + jnp.eye(3))

    params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2, jnp.bfloat16)}
    frozen = [olympus.freeze(model, params, x, weights=0), olympus.freeze(solved, x)]

    def read(folder: pathlib.Path) -> object:
        return olympus.block_until_ready(olympus.load_frozen(folder / "file", untrusted=True)(x))

    samples: list[tuple[Files, Callable[[pathlib.Path], object]]] = [
        ({"file": each.to_bytes()}, read) for each in frozen
    ]
    with tempfile.TemporaryDirectory() as folder:
        frozen[0].save(pathlib.Path(folder) / "file", weights="beside")
        samples.append(
            ({path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}, read)
        )

    def opened(contents: bytes) -> list[bytes]:
        arrays, metadata = safetensors.read(contents)
        names = json.dumps([[name, *described(array)] for name, array in arrays.items()])
        pieces = [array.tobytes() for array in arrays.values()]
        return [json.dumps(metadata).encode(), names.encode(), *pieces]

    def described(array: np.ndarray) -> tuple[str, list[int]]:
        return array.dtype.name, list(array.shape)

    def sealed(parts: list[bytes]) -> bytes:
        try:
            metadata, names = json.loads(parts[0]), json.loads(parts[1])
            arrays = {
                name: np.frombuffer(piece, jnp.dtype(dtype)).reshape(shape)
                for (name, dtype, shape), piece in zip(names, parts[2:], strict=True)
            }
            if "digest" in metadata:
                metadata["digest"] = container._digest(arrays, metadata)
            return safetensors.write(arrays, metadata)
        except Exception:  # these parts do not occur in a valid file
            return b"".join(parts)

    return Kind(samples, opened, sealed)


def compiled_functions() -> Kind:
    """Makes serialized executables."""
    import olympus
    import olympus.numpy as jnp
    from olympus.experimental import serialize_executable

    x = np.linspace(0.1, 1, 9, dtype=np.float32).reshape(3, 3)

    def read(trees: tuple, folder: pathlib.Path) -> object:
        contents = (folder / "file").read_bytes()
        return serialize_executable.deserialize_and_load(contents, *trees)(x)

    samples = []
    for fun in (jnp.sin, lambda x: (x @ x).sum(0), jnp.linalg.eigh, lambda x: {"a": x + 1}):
        contents, *trees = serialize_executable.serialize(olympus.jit(fun).lower(x).compile())
        samples.append(({"file": contents}, functools.partial(read, tuple(trees))))
    return Kind(samples)


def cached_programs() -> Kind:
    """Makes caches on disk: of executables in a separate folder, and of traced programs."""
    import olympus
    import olympus.numpy as jnp
    from olympus_ir.settings import config_cache_flags as flags
    from olympus_xla.compiling import compilation_cache

    x = np.linspace(0.1, 1, 9, dtype=np.float32).reshape(3, 3)
    functions = (lambda x: jnp.sin(x) + 1, lambda x: (x @ x).sum(0), jnp.linalg.eigh)
    expected = {functions[0]: np.sin(x) + 1, functions[1]: (x @ x).sum(0)}
    flags.enable_compilation_cache.update(True)
    flags.persistent_cache_min_compile_time_secs.update(0.0)
    flags.persistent_cache_min_entry_size_bytes.update(-1)
    flags.raise_persistent_cache_errors.update(True)

    def use(fun: Any, folder: pathlib.Path) -> object:
        flags.compilation_cache_dir.update(os.fspath(folder))
        compilation_cache.reset_cache()
        olympus.clear_caches()
        return olympus.jit(fun).lower(x).compile()(x)

    def use_traced(fun: Any, folder: pathlib.Path) -> object:
        flags.compilation_cache_dir.update(None)
        flags.cache_dir.update(os.fspath(folder))
        compilation_cache.reset_cache()
        olympus.clear_caches()
        result = olympus.jit(fun, cache=True)(x)
        np.testing.assert_allclose(np.asarray(result), expected[fun], rtol=1e-5)
        return result

    samples = []
    for fun in functions:
        with tempfile.TemporaryDirectory() as folder:
            use(fun, pathlib.Path(folder))
            found = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
            assert found, "the program was not kept"
            samples.append((found, functools.partial(use, fun)))
    for fun in expected:
        with tempfile.TemporaryDirectory() as folder:
            use_traced(fun, pathlib.Path(folder))
            (path,) = (pathlib.Path(folder) / "programs").glob("*-cache")
            entry = {f"programs/{path.name}": path.read_bytes()}
            samples.append((entry, functools.partial(use_traced, fun)))
    return Kind(samples)


def arrays() -> Kind:
    """Makes files of arrays: NumPy's two formats, safetensors, and TensorStore's folders."""
    import olympus
    import olympus.numpy as jnp
    from olympus.experimental.array_serialization import pytree_serialization
    from olympus_export.frozen import safetensors

    tree = {"w": jnp.arange(64.0).reshape(8, 8), "b": (jnp.ones(5, jnp.bfloat16), jnp.arange(3))}
    one, several = io.BytesIO(), io.BytesIO()
    jnp.save(one, tree["w"])
    np.savez_compressed(several, **{"w": np.asarray(tree["w"]), "n": np.arange(3)})

    def read_one(folder: pathlib.Path) -> object:
        return jnp.load(folder / "file.npy")

    def read_several(folder: pathlib.Path) -> object:
        with jnp.load(folder / "file.npz") as found:
            return [jnp.asarray(found[name]) for name in found]

    sharding = olympus.sharding.SingleDeviceSharding(olympus.devices()[0])

    def read_tree(folder: pathlib.Path) -> object:
        return olympus.block_until_ready(pytree_serialization.load(folder, sharding))

    def read_tensors(folder: pathlib.Path) -> object:
        return list(
            map(jnp.asarray, safetensors.read((folder / "file").read_bytes()).arrays.values())
        )

    tensors = {"w": np.asarray(tree["w"]), "b": np.asarray(tree["b"][0]), "n": np.array(True)}
    samples: list[tuple[Files, Callable[[pathlib.Path], object]]] = [
        ({"file.npy": one.getvalue()}, read_one),
        ({"file.npz": several.getvalue()}, read_several),
        ({"file": safetensors.write(tensors, {"of": "a test"})}, read_tensors),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pytree_serialization.save(tree, folder)
        found = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
    samples.append((found, read_tree))
    return Kind(samples, lambda contents: [contents])


KINDS: dict[str, Callable[[], Kind]] = {
    "export": exported_functions,
    "frozen": frozen_functions,
    "executables": compiled_functions,
    "cache": cached_programs,
    "arrays": arrays,
}


# ---- in the child ----


def damaged_files(kind: Kind, seed: str, number: int) -> tuple[Files, Callable, str]:
    """Returns the files of a case, the function that reads them, and a note on the damage."""
    generator = random.Random(f"{seed} {number}")
    files, read = generator.choice(kind.samples)
    donors = [contents for other, _ in kind.samples for contents in other.values()]
    name = generator.choice(sorted(name for name in files if files[name]))
    if kind.open is None or number % 2 == 0:
        return {**files, name: damaged(files[name], generator, donors)}, read, "as it is"
    parts = kind.open(files[name])
    chosen = generator.choice([place for place, part in enumerate(parts) if part])
    parts[chosen] = damaged(parts[chosen], generator, donors)
    return {**files, name: kind.seal(parts)}, read, f"part {chosen}, sealed again"


def evaluate(kind: Kind, seed: str, number: int, events: list[str]) -> dict[str, Any]:
    """Reads one damaged file; returns the outcome."""
    files, read, damage = damaged_files(kind, seed, number)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, contents in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(contents)
        events.clear()
        try:
            read(folder)
            outcome = {"status": "read"}
        except BaseException as error:
            outcome = {
                "status": "error",
                "type": type(error).__name__,
                "expected": isinstance(error, EXPECTED) and not INTERNAL.search(str(error)),
                "text": str(error)[:300],
            }
        foreign = sorted(set(events))
    return {"number": number, "damage": damage, "foreign": foreign, **outcome}


def answer(kind_name: str, seed: str) -> None:
    """Reads the cases whose numbers arrive on standard input; prints one line for each answer."""
    warnings.simplefilter("ignore")
    replies, sys.stdout = sys.stdout, sys.stderr
    kind = KINDS[kind_name]()
    with tempfile.TemporaryDirectory() as name:  # imports the deferred modules
        for files, read in kind.samples:
            for path, contents in files.items():
                (pathlib.Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(name) / path).write_bytes(contents)
            read(pathlib.Path(name))
    events: list[str] = []

    def hook(event: str, arguments: tuple) -> None:
        is_reader = event == "subprocess.Popen" and "vetting" in repr(arguments)
        if FOREIGN.match(event) and not is_reader:  # the reader of untrusted programs
            events.append(f"{event}{arguments!r}"[:120])

    for number in range(40):  # errors also import modules
        evaluate(kind, "warm", number, [])
    sys.addaudithook(hook)
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    print("ready", file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(evaluate(kind, seed, int(line), events)), file=replies, flush=True)


# ---- in the parent ----


class Reader:
    """Child process that reads damaged files, and is restarted when it dies or hangs."""

    def __init__(self, kind: str, seed: str) -> None:
        command = [sys.executable, __file__, "--answer", kind, "--seed", seed]
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self.worker = Worker(command, PATIENCE, errors=self.errors)
        self.count = 0

    def evaluate(self, number: int) -> dict[str, Any]:
        """Returns the outcome of a case."""
        if self.count >= FILES_A_CHILD:
            self.close()
        self.count += 1
        answer = self.worker.ask(number)
        if "code" not in answer:
            return answer
        hung = answer["status"] == "hang"
        self.errors.seek(0)
        outcome = {
            "number": number,
            "status": "hang" if hung else "death",
            "type": "hang" if hung else f"exit {answer['code']}",
            "text": self.errors.read()[-600:],
            "foreign": [],
            "damage": "",
        }
        self.close()
        return outcome

    def close(self) -> None:
        """Ends the process."""
        self.worker.close()
        self.count = 0
        self.errors.seek(0)
        self.errors.truncate()


def is_finding(outcome: dict[str, Any]) -> bool:
    """Returns whether an outcome is a finding."""
    if outcome["status"] in ("death", "hang") or outcome["foreign"]:
        return True
    return outcome["status"] == "error" and not outcome["expected"]


def outcomes(kind: str, seed: str, numbers: range) -> Iterator[dict[str, Any]]:
    """Yields the outcomes of the cases of a kind."""
    reader = Reader(kind, seed)
    try:
        for number in numbers:
            yield reader.evaluate(number)
    finally:
        reader.close()


def report(kind: str, seed: str, numbers: range) -> int:
    """Reads the damaged files of a kind and prints the outcomes; returns the number of findings."""
    started = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    findings: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for outcome in outcomes(kind, seed, numbers):
        what = outcome["status"] if outcome["status"] == "read" else outcome["type"]
        counts[what] += 1
        if is_finding(outcome):
            findings[f"{what} {outcome['foreign']} {outcome.get('text', '')[-80:]}"].append(outcome)
    seconds = time.monotonic() - started
    shown = ", ".join(f"{what} {count}" for what, count in counts.most_common())
    total = sum(map(len, findings.values()))
    print(f"{kind}: {len(numbers)} files in {seconds:.0f} s: {shown}; findings: {total}")
    for group in sorted(findings.values(), key=len, reverse=True):
        first = group[0]
        print(f"  {len(group)} x {first['type'] if 'type' in first else first['status']}")
        print(f"    numbers {[each['number'] for each in group[:5]]}, {first['damage']}")
        print(f"    {first['foreign']} {first.get('text', '')!r}", flush=True)
    return total


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--files", type=int, default=1000, help="the number of damaged files of each kind"
    )
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--seed", default="0", help="the seed")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--answer", choices=list(KINDS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer(options.answer, options.seed)
        return 0
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("jaxlib", "numpy")]
    print(f"seed {options.seed}, Python {platform.python_version()}, {', '.join(versions)}")
    numbers = range(options.first, options.first + options.files)
    return 1 if sum([report(kind, options.seed, numbers) for kind in options.kinds]) else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Code generation for the processor at hand, where XLA's CPU backend has a slower default.

Three defaults are replaced:

- XLA emits a fusion of one operation in tiles of 16 elements, which pass through the stack. Its
  loop emitter, which all other fusions use, takes a third to a half of the time: 0.09 instead of
  0.26 ns an element for ``abs``. Compilation takes less time, too. Transpositions are faster in
  tiles, so programs that may transpose keep the tiles.
- XLA prefers vectors of 256 bits. AMD's processors with AVX-512 compute with 512 bits at the same
  clock rate, so that arithmetic takes half of the time. LLVM, by its own tuning, also prefers 512
  bits for these processors, and 256 bits for Intel's processors, which lower their clock rate. On
  Zen 4 a gather of 16 elements takes longer than two of 8, so programs that gather and have no
  transcendental functions keep 256 bits.
- LLVM unrolls loops. Large programs over small arrays compile faster without it
  (../loops/rolled_loops.py).

The replacements change how loops are cut, not what they compute. The reciprocal square root starts
at a more exact estimate with 512 bits, so the bound of its error falls from 1.75 to 1 unit in the
last place. The error of ``erf`` falls from 6.8 to 5.8 units.

The flag ``olympus_cpu_lowerings`` turns all replacements off. The group ``elementwise`` of the
benchmarks covers this module.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

from olympus_ir.settings import config_flags

from ...._jaxlib import CompileOptions
from ...cache_key import processor_identity
from .. import mlir

_WIDTH = "xla_cpu_prefer_vector_width"

# The numbers of the fields CompileOptionsProto.executable_build_options,
# ExecutableBuildOptionsProto.debug_options and DebugOptions.xla_backend_extra_options. The last
# field is a map from strings to strings, for which jaxlib has no attribute.
_PATH = (3, 3, 500)
_WITHOUT_TILES = "xla_cpu_disable_tiled_emitter"
_WITHOUT_UNROLLING = "xla_cpu_disable_loop_unrolling"


# Operations that are transpositions, or for which XLA transposes operands or results.
_TRANSPOSING = (
    b"transpose",
    b"dot",
    b"convolution",
    b"custom_call",
    b"gather",
    b"scatter",
    b"sort",
    b"fft",
    b"cholesky",
    b"triangular_solve",
    b"layout",
)


# Operations that take much less time with 512 bits, on all of these processors.
_TRANSCENDENTAL = (b"exponential", b"log", b"tanh", b"power", b"sine", b"erf", b"sqrt")


def tuned(options: Any, platform: str, module: Any, *, unrolls_loops: bool = True) -> Any:
    """Returns XLA's compile options with the tuning for this processor.

    Options that the user sets, by ``compiler_options`` or ``XLA_FLAGS``, stay as they are.

    Args:
      options: XLA's compile options, which are not changed.
      platform: the platform that programs are compiled for.
      module: the MLIR module, or its bytecode.
      unrolls_loops: whether LLVM unrolls loops, as it does by default.
    """
    if platform != "cpu" or not config_flags.cpu_lowerings.value:
        return options
    names = _names_in(module)
    # The parser merges concatenated messages, so each appended message adds an option.
    extra = b"" if _has_any(_TRANSPOSING, names) else _extra_option(_WITHOUT_TILES)
    if not unrolls_loops:
        extra += _extra_option(_WITHOUT_UNROLLING)
    tuned_options = CompileOptions.ParseFromString(options.SerializeAsString() + extra)
    overrides = list(options.env_option_overrides)
    is_chosen = _WIDTH in os.environ.get("XLA_FLAGS", "") or _WIDTH in dict(overrides)
    identity = processor_identity() or ""
    gathers = b"gather" in names and not _has_any(_TRANSCENDENTAL, names)
    is_wide = has_fast_wide_vectors(identity) and not (gathers and has_slow_wide_gathers(identity))
    if is_wide and not is_chosen:
        tuned_options.env_option_overrides = [*overrides, (_WIDTH, 512)]
    return tuned_options


def _names_in(module: Any) -> bytes:
    """Returns bytes that contain the names of a module's operations."""
    return module if isinstance(module, bytes) else mlir.bytecode_without_locations(module)


def _has_any(operations: Sequence[bytes], names: bytes) -> bool:
    """Returns whether ``names`` contains the name of any of the operations."""
    return any(name in names for name in operations)


def has_fast_wide_vectors(identity: str) -> bool:
    """Returns whether a processor computes with 512 bits at its usual clock rate.

    Args:
      identity: the lines of ``/proc/cpuinfo`` that describe the processor.
    """
    vendor, _, features = _described(identity)
    return vendor == "AuthenticAMD" and "avx512f" in features


def has_slow_masked_stores(identity: str) -> bool:
    """Returns whether a processor takes tens of cycles to store some elements of a vector.

    Args:
      identity: the lines of ``/proc/cpuinfo`` that describe the processor.
    """
    vendor, _, features = _described(identity)
    return vendor == "AuthenticAMD" and "avx512f" not in features


def has_slow_compressed_stores(identity: str) -> bool:
    """Returns whether a processor takes over a hundred cycles to store the chosen part of a vector.

    These are AMD's processors of the generation Zen 4, the first one with AVX-512.

    Args:
      identity: the lines of ``/proc/cpuinfo`` that describe the processor.
    """
    return _is_zen_4(identity)


def has_slow_wide_gathers(identity: str) -> bool:
    """Returns whether a gather of 512 bits takes longer than two of 256 bits.

    Args:
      identity: the lines of ``/proc/cpuinfo`` that describe the processor.
    """
    return _is_zen_4(identity)


def _is_zen_4(identity: str) -> bool:
    vendor, family, features = _described(identity)
    return vendor == "AuthenticAMD" and family == "25" and "avx512f" in features


@functools.cache
def _described(identity: str) -> tuple[str, str, frozenset[str]]:
    """Returns the vendor, the family and the features of a processor."""
    values: dict[str, str] = {}
    for line in identity.splitlines():
        name, _, value = line.partition(":")
        values[name.strip()] = value.strip()
    features = frozenset(values.get("flags", "").split())
    return values.get("vendor_id", ""), values.get("cpu family", ""), features


@functools.cache
def _extra_option(name: str) -> bytes:
    """Returns serialized compile options in which only one extra option is set."""
    message = _field(1, name.encode()) + _field(2, b"true")
    for number in reversed(_PATH):
        message = _field(number, message)
    return message


def _field(number: int, contents: bytes) -> bytes:
    """Returns a length-delimited field of a protocol buffer, such as a string or a message."""
    return _varint(number << 3 | 2) + _varint(len(contents)) + contents


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)

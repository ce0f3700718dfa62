# SPDX-License-Identifier: Apache-2.0
"""Source maps from the text of a compiled function to its source lines in Python."""

from . import passes as builtin_passes
from .generation import (
    Pass,
    SourceMapDump,
    all_passes,
    compile_with_env,
    filter_passes,
    generate_sourcemaps,
    register_pass,
)
from .maps import MappingsGenerator, SourceMap
from .texts import canonicalize_filename, create_mlir_sourcemap

__all__ = [
    "MappingsGenerator",
    "Pass",
    "SourceMap",
    "SourceMapDump",
    "all_passes",
    "builtin_passes",
    "canonicalize_filename",
    "compile_with_env",
    "create_mlir_sourcemap",
    "filter_passes",
    "generate_sourcemaps",
    "register_pass",
]

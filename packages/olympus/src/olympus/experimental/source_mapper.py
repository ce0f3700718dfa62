# SPDX-License-Identifier: Apache-2.0
"""Source maps from the text of compiled functions to lines of Python."""

from olympus_xla.profiling.source_maps import (
    MappingsGenerator,
    Pass,
    SourceMap,
    SourceMapDump,
    all_passes,
    canonicalize_filename,
    compile_with_env,
    create_mlir_sourcemap,
    filter_passes,
    generate_sourcemaps,
    register_pass,
)

from .._faces import present as _present

__all__ = [
    "MappingsGenerator",
    "Pass",
    "SourceMap",
    "SourceMapDump",
    "all_passes",
    "canonicalize_filename",
    "compile_with_env",
    "create_mlir_sourcemap",
    "filter_passes",
    "generate_sourcemaps",
    "register_pass",
]

_present(__name__)

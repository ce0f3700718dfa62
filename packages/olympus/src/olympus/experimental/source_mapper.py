# SPDX-License-Identifier: Apache-2.0
"""From the text of a compiled function back to the lines of Python that it comes from."""

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

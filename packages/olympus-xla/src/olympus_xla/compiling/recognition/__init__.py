# SPDX-License-Identifier: Apache-2.0
"""Recognition of traced programs whose executables are on disk, so that they are not lowered.

`program_digest` computes a digest of a program and of all that lowering reads, `sources` describes
the source files of packages, and `known_programs` maps digests to entries of the cache on disk. The
modules import no MLIR.
"""

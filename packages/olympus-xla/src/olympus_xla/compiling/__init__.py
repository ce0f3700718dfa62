# SPDX-License-Identifier: Apache-2.0
"""Compilation of programs: placement, lowering to StableHLO, XLA's compiler, the cache on disk.

May import `foreign`, `arrays` and below.
"""

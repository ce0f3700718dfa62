# SPDX-License-Identifier: Apache-2.0
"""Compilation of programs: placement, lowering to StableHLO, XLA's compiler, the cache on disk.

This folder may import `foreign`, `arrays` and the layers below them.
"""

# SPDX-License-Identifier: Apache-2.0
"""From a program to a loaded executable: placement, lowering to StableHLO, XLA, the cache on disk.

May import `foreign`, `arrays` and below.
"""

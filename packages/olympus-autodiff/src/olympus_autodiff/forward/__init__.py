# SPDX-License-Identifier: Apache-2.0
"""Forward mode: tracers that carry tangents, `jvp`, and linearization.

`jvp` computes tangents immediately; `linearize` records them as a linear program. Both apply the
rules of `jvp_rules`. The modules import the rule tables and symbolic zeros of the package's root,
and nothing of reverse mode.
"""

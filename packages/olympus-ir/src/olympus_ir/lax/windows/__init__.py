# SPDX-License-Identifier: Apache-2.0
"""Operations on the windows of arrays, the shapes of windows, and loops over window positions.

The modules import `core`, `elementwise`, `shaping`, `indexing`, `reductions` and `control_flow`.
"""

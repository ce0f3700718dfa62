# SPDX-License-Identifier: Apache-2.0
"""The primitive `pallas_call`, its batching, its derivatives and its interpretation.

The folder may import `operations` and the layers below it. `lowerings` has the lowering rules.
"""

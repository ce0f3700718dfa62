# SPDX-License-Identifier: Apache-2.0
"""Functions exported as StableHLO, to be called in another process or by another runtime.

`exporting` makes an `exported.Exported`. `writing` serializes it in the format described in
`format`, and `reading` deserializes it. `lowering` lowers calls of exported functions. This folder
may import `trees`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Functions exported as StableHLO, to be called in another process or by another runtime.

`exporting` makes an `exported.Exported`. `writing` turns it into bytes in the format that `format`
describes, and `reading` turns the bytes back into it. `lowering` lowers calls of it in a program.
May import `trees`.
"""

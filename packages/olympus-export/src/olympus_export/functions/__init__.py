# SPDX-License-Identifier: Apache-2.0
"""Functions exported as StableHLO, to be called in another process or by another runtime.

`exporting` makes an `exported.Exported`, `writing` and `reading` turn it into bytes and back by the
rules of `format`, and `lowering` places a call of it in a program. May import `trees`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Frozen functions: a StableHLO program with its weights in one file of data.

`freezing` makes a `frozen.Frozen` from a function and its arguments. `container` defines the layout
of the file, in the format of `safetensors`. This folder may import `functions` and `trees`.
"""

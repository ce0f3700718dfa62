# SPDX-License-Identifier: Apache-2.0
"""Counterparts of JAX's private modules of the runtime: devices, shardings, tokens, keys, errors.

They import any package of OLYMPUS, and no other folder of `olympus.compat`.
"""

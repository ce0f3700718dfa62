# SPDX-License-Identifier: Apache-2.0
"""Operations that make arrays, change their shapes and rearrange their elements.

The modules import `core`, `elementwise` and `transfer`.
"""

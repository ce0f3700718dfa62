# SPDX-License-Identifier: Apache-2.0
"""Registration, flattening, paths and prefixes of pytrees, and conversion to flat functions.

This package may import `diagnostics` and the packages below it.
"""

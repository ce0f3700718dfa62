# SPDX-License-Identifier: Apache-2.0
"""Errors, source locations, filtered tracebacks, monitoring and text layout.

This package may import `settings`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Profiles of running programs, and maps from compiled code to its source lines in Python.

May import `calls` and below.
"""

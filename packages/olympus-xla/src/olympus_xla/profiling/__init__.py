# SPDX-License-Identifier: Apache-2.0
"""Profiles of running programs, and maps from compiled code to the lines of Python it comes from.

May import `calls` and below.
"""

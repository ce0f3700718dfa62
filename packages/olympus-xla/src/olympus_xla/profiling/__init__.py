# SPDX-License-Identifier: Apache-2.0
"""Profiles of running programs, and maps from compiled code to Python source lines.

May import `calls` and below.
"""

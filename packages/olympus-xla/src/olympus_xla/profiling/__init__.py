# SPDX-License-Identifier: Apache-2.0
"""Profiles of running programs, and maps from compiled code to Python source lines.

This folder may import `calls` and the layers below it.
"""

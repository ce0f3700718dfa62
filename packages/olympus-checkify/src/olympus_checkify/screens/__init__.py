# SPDX-License-Identifier: Apache-2.0
"""Screens: programs that say at little cost whether an operation failed, though not which.

A value that is not finite makes most results that depend on it not finite. A screen looks at the
few values from which no such result follows, and lets bad values pass through operations that
would hide them. Imports `rules` and what is below it.
"""

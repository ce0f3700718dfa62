# SPDX-License-Identifier: Apache-2.0
"""Samplers: functions of a key that draw from a distribution.

Modules of this folder import `keys` and `generators`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Estimators of expectations whose derivatives estimate those of the expectations.

Modules of this folder import `samplers` and `keys`.
"""

# SPDX-License-Identifier: Apache-2.0
"""Estimators of expectations, and of the derivatives of expectations.

Modules of this folder import `samplers` and `keys`.
"""

# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_checkify import DivisionByZeroError as DivisionByZeroError
from olympus_checkify import Error as Error
from olympus_checkify import ErrorCategory as ErrorCategory
from olympus_checkify import FailedCheckError as FailedCheckError
from olympus_checkify import NaNError as NaNError
from olympus_checkify import OOBError as OOBError
from olympus_checkify import OlympusRuntimeError as OlympusRuntimeError
from olympus_checkify import all_checks as all_checks
from olympus_checkify import automatic_checks as automatic_checks
from olympus_checkify import check_p as check_p
from olympus_checkify import div_checks as div_checks
from olympus_checkify import float_checks as float_checks
from olympus_checkify import index_checks as index_checks
from olympus_checkify import init_error as init_error
from olympus_checkify import nan_checks as nan_checks
from olympus_checkify import user_checks as user_checks
from olympus_checkify.checks import check as check
from olympus_checkify.checks import check_error as check_error
from olympus_checkify.checks import debug_check as debug_check
from olympus_checkify.transform import checkify as checkify
from olympus_checkify.transform import checkify_olympuspr as checkify_olympuspr

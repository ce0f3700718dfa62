# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.diagnostics.errors import ComplexOperandError as ComplexOperandError
from olympus_ir.diagnostics.errors import ConcretizationTypeError as ConcretizationTypeError
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from olympus_ir.diagnostics.errors import JAXIndexError as JAXIndexError
from olympus_ir.diagnostics.errors import JAXTypeError as JAXTypeError
from olympus_ir.diagnostics.errors import JaxRuntimeError as JaxRuntimeError
from olympus_ir.diagnostics.errors import KeyReuseError as KeyReuseError
from olympus_ir.diagnostics.errors import LeakedTracerError as LeakedTracerError
from olympus_ir.diagnostics.errors import MissingRuleError as MissingRuleError
from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from olympus_ir.diagnostics.errors import OlympusError as OlympusError
from olympus_ir.diagnostics.errors import OlympusIndexError as OlympusIndexError
from olympus_ir.diagnostics.errors import OlympusTypeError as OlympusTypeError
from olympus_ir.diagnostics.errors import OlympusprTypeError as OlympusprTypeError
from olympus_ir.diagnostics.errors import ShapeError as ShapeError
from olympus_ir.diagnostics.errors import ShardingTypeError as ShardingTypeError
from olympus_ir.diagnostics.errors import TracerArrayConversionError as TracerArrayConversionError
from olympus_ir.diagnostics.errors import TracerBoolConversionError as TracerBoolConversionError
from olympus_ir.diagnostics.errors import TracerIntegerConversionError as TracerIntegerConversionError
from olympus_ir.diagnostics.errors import TypePromotionError as TypePromotionError
from olympus_ir.diagnostics.errors import UnexpectedTracerError as UnexpectedTracerError

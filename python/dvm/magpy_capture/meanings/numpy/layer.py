"""The parts that say what NumPy's functions mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.meanings.python.layer import PythonPart

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.array_attributes import ArrayAttributes
    from dvm.magpy_capture.meanings.numpy.array_classes import ArrayClasses
    from dvm.magpy_capture.meanings.numpy.conversions import NumpyFunctions
    from dvm.magpy_capture.meanings.numpy.fancy_indexing import FancyIndexing
    from dvm.magpy_capture.meanings.numpy.joining import Joining
    from dvm.magpy_capture.meanings.numpy.ordered_folds import OrderedFolds
    from dvm.magpy_capture.meanings.numpy.per_element import PerElement
    from dvm.magpy_capture.meanings.numpy.picks import NumpyPicks
    from dvm.magpy_capture.meanings.numpy.products import NumpyProducts
    from dvm.magpy_capture.meanings.numpy.promotion import Promotion
    from dvm.magpy_capture.meanings.numpy.reductions import Reductions
    from dvm.magpy_capture.meanings.numpy.rules import NumpyRules
    from dvm.magpy_capture.meanings.numpy.shapes import Shapes
    from dvm.magpy_capture.meanings.numpy.ufunc_methods import UfuncMethods
    from dvm.magpy_capture.meanings.numpy.ufuncs import Ufuncs
    from dvm.magpy_capture.meanings.numpy.written_arguments import WrittenArguments
    from dvm.magpy_capture.meanings.numpy.written_places import WrittenPlaces


class NumpyPart(PythonPart):
    """Has what Python's functions do, and NumPy's."""

    promotion: Promotion
    numpy_rules: NumpyRules
    array_classes: ArrayClasses
    written_arguments: WrittenArguments
    joining: Joining
    ufuncs: Ufuncs
    folds: OrderedFolds
    ufunc_methods: UfuncMethods
    reductions: Reductions
    shapes: Shapes
    conversions: NumpyFunctions
    places: WrittenPlaces
    fancy: FancyIndexing
    picks: NumpyPicks
    products: NumpyProducts
    attributes: ArrayAttributes
    per_element: PerElement


__all__ = ["NumpyPart"]

"""Names beyond libstdc++'s demangler have their outer part; names within it have the same by both ways."""

from __future__ import annotations

import pytest

from sonde.symbols import elf
from sonde.symbols.outer_name import outer_name
from sonde.symbols.shorten import shorten

BEYOND = (
    "_ZN3c1012function_refIFvPPcPKlllEE11callback_fnIZN2at18TensorIteratorBase15loop_2d_from_1dIZNS8_6native4AVX217"
    "cpu_serial_kernelIZZZNSB_9templates3cpu12_GLOBAL__N_113cauchy_kernelIPNS8_16CPUGeneratorImplEEEvRS9_ddT_"
    "ENKUlvE_clEvENKUlvE0_clEvEUlvE_EEvSK_OSL_RKNS8_5RangeEEUlS2_S4_lE_EEDaRKSL_EUlS2_S4_llE_EEvlS2_S4_ll"
)
WITHIN = (
    "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE",
    "_ZN2at8internal15invoke_parallelIZNS_6native12_GLOBAL__N_14testEvEUlllE_EEvlllRKT_",
    "_ZNKSt7__cxx1112regex_traitsIcE16lookup_classnameIPKcEENS1_10_RegexMaskET_S6_b",
    "_ZN3c108GradMode10is_enabledEv",
    "_ZNSt6vectorIiSaIiEED2Ev",
)


def test_a_name_beyond_the_demangler_keeps_its_outer_part() -> None:
    assert shorten(elf.demangle(BEYOND)) == "c10::function_ref::callback_fn"


@pytest.mark.parametrize("name", WITHIN)
def test_both_ways_give_the_same_name(name: str) -> None:
    assert elf.demangle(name) != name
    assert outer_name(name) == shorten(elf.demangle(name))


@pytest.mark.parametrize(
    "name", ["_Z", "_ZN", "_ZN3c10", "_ZN99999999999999999999x", "_ZNIIIIII", "_ZZZZ", "_ZN1aI"]
)
def test_a_broken_name_is_not_guessed_at(name: str) -> None:
    assert outer_name(name) is None

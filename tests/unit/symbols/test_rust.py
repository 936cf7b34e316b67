"""Rust's v0 names against what rustc's own demangler (and binutils) say of them."""

from __future__ import annotations

import pytest

from sonde.symbols.rust import demangle
from sonde.symbols.shorten import shorten

NAMES = {
    "_RINvCsjMaewn57Afh_1t5applyNCNvB2_4mains_0EB2_": ("t::apply::<t::main::{closure#1}>", "t::apply"),
    "_RINvCsjMaewn57Afh_1t5applyNCNCNvB2_4main00EB2_": (
        "t::apply::<t::main::{closure#0}::{closure#0}>",
        "t::apply",
    ),
    "_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_": (
        "std::rt::lang_start_internal::{closure#0}::{closure#0}::{closure#1}",
        "std::rt::lang_start_internal::{closure#0}::{closure#0}::{closure#1}",
    ),
    "_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range14RangeInclusivejEECsfEOYDRpO4Ta_11"
    "miniz_oxide": (
        "<[u8]>::copy_within::<core::ops::range::RangeInclusive<usize>>",
        "[u8]::copy_within",
    ),
    "_RNSNvYNCNCNvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace10__print_fmts_00INtNtNtCsgEmfK2I1SDS_4core3ops8function"
    "6FnOnceTRNtNtNtBe_12backtrace_rs9symbolize6SymbolEE9call_once6vtableBe_": (
        "<std::sys::backtrace::_print_fmt::{closure#1}::{closure#0} as core::ops::function::FnOnce<(&std::"
        "backtrace_rs::symbolize::Symbol,)>>::call_once::{shim:vtable#0}",
        "std::sys::backtrace::_print_fmt::{closure#1}::{closure#0}::call_once::{shim:vtable#0}",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_v0_name_is_read_as_rust_writes_it(name: str) -> None:
    full, short = NAMES[name]
    assert demangle(name) == full
    assert demangle(name + ".llvm.12345") == full
    assert shorten(full) == short


@pytest.mark.parametrize(
    "name",
    ["_R", "_RNv", "_RB_", "_RIB0_B1_E", "_RNvC9999999999_x", "_RINvC1aB_E", "_ReadFile", "main", "_R\xe9"],
)
def test_what_is_no_name_or_refers_to_itself_is_left_alone(name: str) -> None:
    assert demangle(name) is None

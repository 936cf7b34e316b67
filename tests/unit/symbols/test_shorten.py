"""Short C++ names: known ones word by word, and every name of a real library by properties."""

from __future__ import annotations

import pytest

from sonde.symbols.shorten import shorten

CASES = {
    "malloc": "malloc",
    "PyObject_Call": "PyObject_Call",
    "mkl_blas_avx512_sgemm_kernel_0": "mkl_blas_avx512_sgemm_kernel_0",
    "at::_ops::addmm::call(at::Tensor const&, at::Tensor const&)": "at::_ops::addmm::call",
    "void at::native::(anonymous namespace)::cpu_flash_attention<double, c10::Half, 64l>(at::Tensor, bool)":
        "at::native::cpu_flash_attention",
    "at::native::(anonymous namespace)::add_kernel(at::TensorIteratorBase&, c10::Scalar const&)"
    "::{lambda()#1}::operator()() const::{lambda(float, float)#2}::operator()(float, float) const":
        "at::native::add_kernel::{lambda}",
    "at::native::(anonymous namespace)::add_kernel(at::TensorIteratorBase&, c10::Scalar const&)"
    "::'lambda'()::operator()() const::'lambda0'(float, float)::operator()(float, float) const (.cold)":
        "at::native::add_kernel::{lambda}",  # as LLVM's demangler writes it
    "void at::internal::invoke_parallel<f(long)::'lambda'(long, long)>(long, long const&) (._omp_fn.0)":
        "at::internal::invoke_parallel [omp]",
    "std::_Function_handler<void (int), foo(bar)::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)":
        "std::_Function_handler::_M_invoke",
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)":
        "std::string::append",
    "c10::operator<<(std::ostream&, c10::Device const&)": "c10::operator<<",
    "bool std::operator< <char>(std::string const&, std::string const&)": "std::operator<",
    "c10::intrusive_ptr<c10::X<(c10::Y)3> >::operator->() const": "c10::intrusive_ptr::operator->",
    "Foo::operator unsigned long() const": "Foo::operator unsigned long",
    "operator new(unsigned long)": "operator new",
    "operator delete[](void*)": "operator delete[]",
    "Functor::operator()(int) const": "Functor::operator()",
    "non-virtual thunk to torch::autograd::Node::apply(int)": "torch::autograd::Node::apply",
    "foo(int) [clone .isra.0]": "foo",
    "at::parallel_region(long) [clone ._omp_fn.0]": "at::parallel_region [omp]",
    "foo.constprop.0": "foo",
    "gomp_team_barrier_wait_end.cold": "gomp_team_barrier_wait_end",
    "dnnl::impl::cpu::x64::jit_uni_kernel_t<(dnnl::impl::cpu::x64::cpu_isa_t)560>::~jit_uni_kernel_t()":
        "dnnl::impl::cpu::x64::jit_uni_kernel_t::~jit_uni_kernel_t",
    "std::enable_if<((N)>(0)), int>::type ns::f<3>(int (*)(int))": "ns::f",
    "decltype(auto) c10::guts::apply<Foo>(Foo&&)": "c10::guts::apply",
    "(anonymous namespace)::helper()": "helper",
    "memcpy@plt": "memcpy@plt",
    "std::string[abi:cxx11](int)": "std::string",
    "main": "main",
}  # fmt: skip


@pytest.mark.parametrize(("full", "short"), CASES.items())
def test_known_names(full: str, short: str) -> None:
    assert shorten(full) == short


def test_unbalanced_brackets_do_not_raise_and_do_not_vanish() -> None:
    for name in ("a<b", "a)b", "foo(", "x{", "->", "operator", "a::b<c>>", "<lambda>", "(int)", " "):
        assert shorten(name)

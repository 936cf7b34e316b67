"""Operators read from C++ names."""

from __future__ import annotations

import pytest

from sonde.symbols.torchnames import Mark, base_name, operator_of

WRAPPED = "_object* torch::autograd::TypeError_to_NotImplemented_<&"
BOUND = "pybind11::cpp_function::initialize<torch::jit::f(_object*)::{lambda(int)#2}>()"
CASES = [
    ("at::_ops::addmm::call(at::Tensor const&, at::Tensor const&)", "aten::addmm", Mark.CALL),
    ("at::_ops::sum_dim_IntList::redispatch(c10::DispatchKeySet, at::Tensor)", "aten::sum", Mark.INNER),
    ("at::_ops::add__Tensor::call(at::Tensor&, at::Tensor const&)", "aten::add_", Mark.CALL),
    ("at::_ops::_softmax::call(at::Tensor const&, long, bool)", "aten::_softmax", Mark.CALL),
    ("at::_ops::_foreach_add__List::call(c10::ArrayRef<at::Tensor>)", "aten::_foreach_add_", Mark.CALL),
    ("torch::autograd::THPVariable_linear(_object*, _object*, _object*)", "aten::linear", Mark.BINDING),
    ("torch::autograd::generated::AddmmBackward0::apply(std::vector<int>&&)", "AddmmBackward0", Mark.NODE),
    ("torch::autograd::AccumulateGrad::apply(std::vector<int>&&)", "AccumulateGrad", Mark.NODE),
    (WRAPPED + "torch::autograd::THPVariable_add_>(_object*, _object*)", "aten::add_", Mark.BINDING),
    ("torch::autograd::THPVariable_numpy(_object*, _object*)", "torch::numpy", Mark.BINDING),
    ("THPVariable_dealloc(_object*)", "tensor::free", Mark.REST),
    ("c10::TensorImpl::~TensorImpl()", "tensor::free", Mark.REST),
    ("torch::autograd::generated::AddmmBackward0::~AddmmBackward0()", "autograd::free", Mark.REST),
    ("torch::autograd::deleteNode(torch::autograd::Node*)", "autograd::free", Mark.REST),
    ("THPVariable_get_shape(THPVariable*, void*)", "tensor::attribute", Mark.REST),
    ("GetterBase<PropertyGrad>::getter(THPVariable*, void*)", "tensor::attribute", Mark.REST),
    ("torch::check_has_torch_function(_object*, bool)", "torch::overrides", Mark.REST),
    ("torch::autograd::set_grad_enabled(_object*, _object*, _object*)", "autograd::grad_mode", Mark.REST),
    (BOUND + "::{lambda(pybind11::detail::function_call&)#3}::_FUN(int)", "torch::binding", Mark.REST),
]  # fmt: skip


@pytest.mark.parametrize(("full", "name", "mark"), CASES)
def test_names_that_tell_an_operator(full: str, name: str, mark: Mark) -> None:
    found = operator_of(full)
    assert found is not None
    assert (found.name, found.mark) == (name, mark)


@pytest.mark.parametrize(
    "full",
    [
        "",
        "main",
        "at::native::addmm_out(at::Tensor const&)",
        "std::function<at::_ops::addmm::schema>::operator()()",
        "THPVariable_initModule(_object*)",
        "pybind11::cpp_function::initialize_generic(torch::jit::Object)",
        "torch::autograd::Engine::~Engine2()",
        "torch::autograd::Engine::evaluate_function(int)",
        "torch::autograd::Node::operator()(int)",
    ],
)
def test_names_that_do_not(full: str) -> None:
    assert operator_of(full) is None


def test_an_operator_of_a_later_torch_loses_a_known_overload_ending() -> None:
    assert base_name("brand_new_op_Tensor") == "brand_new_op"
    assert base_name("brand_new_op") == "brand_new_op"

"""help() of the exported functions: every argument with its shape, the order of vec, and an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest
import torch

import theorems
from theorems.reference import references
from verify.vocabulary import InputError, Shape, parameter_specs
from verify.vocabulary.errors import RegistryError

pytestmark = pytest.mark.kept

REFERENCES = references()
#: With derivatives by a matrix, which has to be laid out as a vector.
LAID_OUT = [name for name in REFERENCES if re.search("hessian|jacobian", name) and "softmax" not in name]


@pytest.mark.parametrize("name", REFERENCES)
def test_every_argument_is_named_with_its_shape(name: str) -> None:
    function = REFERENCES[name].function
    text = inspect.getdoc(function) or ""
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b", text), f"{name}: its docstring does not speak of {parameter}"
    try:
        specs = parameter_specs(function)
    except RegistryError:
        specs = {}
    for parameter, spec in specs.items():
        if isinstance(spec, Shape):
            assert re.search(rf"^{parameter}: .*{re.escape(', '.join(spec.dims))}", text, re.M)


@pytest.mark.parametrize("name", LAID_OUT)
def test_the_order_of_vec_and_the_layer_are_told(name: str) -> None:
    text = inspect.getdoc(REFERENCES[name].function) or ""
    assert re.search(r"vec is\s+(row|column)-major", text)
    assert ("row-major" in text) != ("column-major: " in text)
    if "hessian" in name:
        assert "l = |F - Y|_F^2 / (L d_V)" in text and "H = H_o + H_f" in text


@pytest.mark.parametrize("name", REFERENCES)
def test_the_example_runs(name: str) -> None:
    reference = REFERENCES[name]
    text = inspect.getdoc(reference.function) or ""
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert any(reference.name in example.source for example in examples.examples)
    assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0


def test_an_example_that_prints_something_else_is_seen() -> None:
    text = (inspect.getdoc(theorems.jacobians.softmax_jacobian) or "").replace("[3, 3]", "[3, 4]")
    wrong = doctest.DocTestParser().get_doctest(text, {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda _: None).failed == 1


def test_errors_name_the_function_and_its_letters() -> None:
    X, W = torch.randn(3, 2), torch.randn(2, 4)
    hessian = theorems.curvature.outer_product_hessian_value
    with pytest.raises(InputError, match=r"^outer_product_hessian_value\(\): W_V: expected shape \(d_V, d_V\)"):
        hessian(X, W, W, torch.randn(3, 2))
    with pytest.raises(TypeError, match=r"^outer_product_hessian_value\(\) missing a required argument: 'W_V'"):
        hessian(X, W, W)
    with pytest.raises(InputError) as caught:
        hessian(X, W, W, torch.randn(3, 2))
    assert caught.value.argument == "W_V", "what a program reads stays the argument alone"

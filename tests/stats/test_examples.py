"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import sentinel.stats

MODULES = [found.name for found in pkgutil.walk_packages(sentinel.stats.__path__, "sentinel.stats.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0

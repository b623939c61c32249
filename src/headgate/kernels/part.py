"""`njit` for the functions that kernels are made of: translated once, made machine code as a part of a kernel.

Numba's own makes a whole library of every function that another one calls: with two wrappers to call it from outside,
optimised and emitted, though all of it is optimised and emitted again as a part of its caller. A part stops where its
caller goes on: typed and lowered, no more. That takes two fifths off the time that a kernel takes to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Library(JITCodeLibrary):
    """Code that is linked into that of a caller and never run by itself."""

    def _optimize_final_module(self) -> None:
        """Leave that to the caller."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lower a part, and tell Numba where it is, without an address to call it at."""

    _name = "headgate_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_compile = True
        super().run_pass(state)
        part = state["cr"]
        state.targetctx.insert_user_function(part.fndesc, part.fndesc, [state.library])
        state["cr"] = _LowerResult(part.fndesc, part.call_helper, cfunc=part.fndesc, env=part.env)
        return True


class _Compiler(CompilerBase):
    """Numba's pipeline with that lowering at its end."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (_Lowering if step is NativeLowering else step, description) for step, description in pipeline.passes
        ]
        pipeline.finalize()
        return [pipeline]


class _Part(CPUDispatcher):
    """A function for kernels to call; called from Python, as tests do, it is compiled by itself."""

    @cached_property
    def alone(self) -> Callable[..., Any]:
        options = {name: value for name, value in self.targetoptions.items() if name not in _NO_WRAPPERS}
        function: Callable[..., Any] = numba.jit(**options)(self.py_func)
        return function

    def __call__(self, *values: Any) -> Any:
        return self.alone(*values)

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Let kernels call the decorated function; `options` are those of `numba.njit`."""
    return lambda function: _Part(
        function, targetoptions={"nopython": True} | options | _NO_WRAPPERS, pipeline_class=_Compiler
    )

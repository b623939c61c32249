"""Compile every kernel, so that the first use does not have to wait: `python -m headgate.kernels`."""

from importlib import import_module
from pkgutil import iter_modules

from headgate import kernels

if __name__ == "__main__":
    for module in iter_modules(kernels.__path__, "headgate.kernels."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
            print(f"compiled {module.name}")

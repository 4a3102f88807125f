"""Estimate what people would have answered, from answers that were randomized on their side."""

# The public names stand in `warner.names`. Each is loaded, with what it needs and nothing else, when it is asked for:
# the command `warner` runs after this file, and answers Ctrl-C even while its libraries load.
TYPE_CHECKING = False  # as in `typing`, whose import would take longer than this file
if TYPE_CHECKING:
    from warner.names import *  # noqa: F403 - they are listed there, and only there
    from warner.names import __all__ as __all__

    __version__: str
else:
    import sys

    def __getattr__(name: str) -> object:
        """Give a public name, or one of the modules that come with them."""
        if name == "__version__":
            return _version()
        modules = _modules()
        if name == "__all__":
            return [*modules]
        if name in modules:
            from importlib import import_module

            module = import_module(modules[name])
            public = module if module.__name__ == f"warner.{name}" else getattr(module, name)
            globals()[name] = public  # found at once from now on
            return public
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])

    def _modules(known: dict[str, str] = {}) -> dict[str, str]:  # noqa: B006 - filled once
        """Give the public names in their order, each with its module: `warner.names` is read, and not run."""
        if not known:
            import ast

            tree = ast.parse(__spec__.loader.get_data(__file__.replace("__init__", "names")))
            imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
            module_of = {alias.name: node.module for node in imports for alias in node.names}
            (listed,) = [node.value for node in tree.body if isinstance(node, ast.Assign)]
            for name in ast.literal_eval(listed):
                known[name] = f"warner.{name}" if module_of[name] == "warner" else module_of[name]
        return known

    def _version() -> str:
        from importlib.metadata import PackageNotFoundError, version  # which takes as long as many of our modules

        try:
            return version("warner")
        except PackageNotFoundError:  # a source tree that is not installed
            return "0+unknown"

    def __dir__() -> list[str]:
        return sorted({*globals(), *_modules(), "__all__", "__version__"})

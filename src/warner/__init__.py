"""Estimate what people would have answered, from answers that were randomized on their side."""

# The public names stand in `warner.names`. They are loaded, with NumPy and SciPy, when the first of them is asked for:
# the command `warner` runs after this file, and answers Ctrl-C even while they load.
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
        if not name.startswith("_") or name == "__all__":
            from importlib import import_module

            names = vars(import_module("warner.names"))
            if "__all__" in names:  # its last line; without it, the names are being loaded at this moment
                globals().update({public: names[public] for public in ("__all__", *names["__all__"])})
            if name in globals():
                return globals()[name]
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])

    def _version() -> str:
        from importlib.metadata import PackageNotFoundError, version  # which takes as long as many of our modules

        try:
            return version("warner")
        except PackageNotFoundError:  # a source tree that is not installed
            return "0+unknown"

    def __dir__() -> list[str]:
        __getattr__("__all__")
        return sorted({*globals(), "__version__"})

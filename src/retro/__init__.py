"""The flight recorder and the memory of coding agents. `retro.open()` gives the archive, see `docs/api.md`."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # the command line begins here: nothing is loaded that was not asked for
if TYPE_CHECKING:
    from retro.api import Archive as Archive
    from retro.api import Failure as Failure
    from retro.api import Hit as Hit
    from retro.api import OpenSession as OpenSession
    from retro.api import Results as Results
    from retro.api import ToolUse as ToolUse
    from retro.api import TurnVector as TurnVector
    from retro.api import TurnView as TurnView
    from retro.api import VectorHit as VectorHit
    from retro.api import open as open

_OF_THE_API = (
    *("Archive", "Failure", "Hit", "OpenSession", "Results", "ToolUse", "TurnVector", "TurnView", "VectorHit", "open"),
)


if not TYPE_CHECKING:  # else every name would seem to be there

    def __getattr__(name: str) -> object:
        if name not in _OF_THE_API:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("retro.api"), name)


def __dir__() -> list[str]:
    return [*_OF_THE_API, "__version__"]

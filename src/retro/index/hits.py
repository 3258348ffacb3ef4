"""What is asked of a search beside its words, and what it gives."""

from __future__ import annotations

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Sequence

    from retro.index.snippets import Snippet


class Filters:
    """What narrows a search. Times as events have them; `file` is a part of a path, `model` a part of a name,
    `clones` are rows of the repositories of which one has to be the session's.
    """

    __slots__ = ("branch", "clones", "errors", "file", "host", "model", "project", "since", "tool", "until")

    def __init__(
        self,
        *,
        project: str | None = None,
        clones: Sequence[int] | None = None,
        host: str | None = None,
        since: str | None = None,
        until: str | None = None,
        branch: str | None = None,
        file: str | None = None,
        tool: str | None = None,
        model: str | None = None,
        errors: bool = False,
    ) -> None:
        self.project = project
        self.clones = clones
        self.host = host
        self.since = since
        self.until = until
        self.branch = branch
        self.file = file
        self.tool = tool
        self.model = model
        self.errors = errors


class Hit:
    """A turn, or a session, that was found."""

    __slots__ = (
        *(
            "branch",
            "coverage",
            "cwd",
            "events",
            "files",
            "host",
            "number",
            "passages",
            "project",
            "prompt",
            "repository",
        ),
        *("score", "session_id", "snippets", "started", "title", "turn", "window"),
    )

    def __init__(self, number: int, turn: int | None, score: float, coverage: int, passages: list[int]) -> None:
        self.number = number
        """The session's row."""
        self.turn = turn
        """None for a session as a whole."""
        self.score = score
        self.coverage = coverage
        """How many of the words it has."""
        self.passages = passages
        """Rows of its passages, best first."""
        self.window: int | None = None
        """Which window of its first passage is most alike, where it was found by meaning alone."""
        self.host = self.session_id = ""
        self.title: str | None = None
        self.project: str | None = None
        self.repository: str | None = None
        self.branch: str | None = None
        self.cwd: str | None = None
        self.prompt: str | None = None
        self.started: str | None = None
        self.events: list[str] = []
        """Ids of the events that the words stand in."""
        self.files: list[str] = []
        self.snippets: list[Snippet] = []


class Found:
    """What a search gives, and what has to be said about it."""

    __slots__ = ("all_words", "hits", "missing", "newest_only", "used")

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.all_words = True
        """Whether what was found first has all words that were asked for."""
        self.newest_only = False
        """Even the rarest word stands in more passages than are graded: the newest of them were."""
        self.used: dict[str, list[str]] = {}
        """Words that stand nowhere, and the ones near to them that were looked for."""
        self.missing: list[str] = []
        """Words that stand nowhere, and that nothing is near to."""

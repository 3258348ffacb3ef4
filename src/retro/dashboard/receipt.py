"""A session's receipt: what its requests took, by model and each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import apsw
import msgspec

from retro.dashboard import data
from retro.dashboard.columns import packed, steps
from retro.event import Quality
from retro.index.database import rows
from retro.ledger.copies import QUALITIES, Numbers
from retro.ledger.reports import CALCULATE, DISPLAY, Amount, Labels

REQUESTS: Final = 1500
"""At most so many of a session."""

Amounts = Mapping[tuple[str, str], Amount]
"""What sessions took, by host and id."""

_EXACT: Final = QUALITIES.index(Quality.EXACT)
_PLAIN: Final = ("", "standard", "default", "normal")
_QUERY: Final = (
    "SELECT at, model, input_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens, output_tokens,"
    " cost, embedded, source, line, turn, agent, tier, speed, quality, taken FROM usage"
    " WHERE owner = ? AND counted = 1 ORDER BY at, line"
)
_decode_taken: Final = msgspec.msgpack.Decoder(tuple[int, Numbers]).decode


class Receipts:
    """Makes receipts of sessions."""

    def __init__(self, connection: apsw.Connection, amounts: Amounts, mode: str) -> None:
        self._connection, self._amounts, self._mode = connection, amounts, mode
        self._labels = Labels(connection)
        self._owners = {
            (host, session_id): number
            for number, host, session_id in rows(connection, "SELECT id, host, session_id FROM owner")
        }

    def amounts(self, host: str, session_id: str) -> list[data.ModelAmount]:
        """What the requests of a session took by model, the dearest first."""
        total = self._amounts.get((host, session_id))
        found = [_of_model(model, amount) for model, amount in total.models.items()] if total else []
        return sorted(found, key=lambda one: (-one.cost, one.model))

    def requests(self, host: str, session_id: str) -> tuple[data.Requests, int]:
        """The requests of a session in the order of time, and how many are left out."""
        owner = self._owners.get((host, session_id))
        found = list(rows(self._connection, _QUERY, (owner,)))
        if not found:
            return data.Requests(), 0
        shown = list(zip(*found[:REQUESTS], strict=True))
        if any(shown[-1]):
            shown = list(zip(*(row if row[-1] is None else self._taken(row) for row in found[:REQUESTS]), strict=True))
        names = _Names(self._labels)
        at, model, given, short, long, read, put = shown[:7]
        cost, embedded, source, line, turn, agent, tier, speed, quality, _ = shown[7:]
        listed = data.Requests(
            at=steps([moment // 1000 for moment in at]),
            model=names.places(model),
            input=packed(given),
            cache_write_5m=packed(short),
            cache_write_1h=packed(long),
            cache_read=packed(read),
            output=packed(put),
            cost=self._costs(cost, embedded),
            source=names.places(source),
            line=packed(steps(line)),
            turn=packed(steps(turn)),
            agent=names.places(agent),
            note=self._notes(names, embedded, tier, speed, quality),
        )
        listed.names = names.texts
        return listed, len(found) - len(at)

    @staticmethod
    def _taken(row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row with the numbers of another copy, which count."""
        n = _decode_taken(row[-1])[1]
        counted = (n.input_tokens, n.cache_write_5m_tokens, n.cache_write_1h_tokens, n.cache_read_tokens)
        return (
            *(n.at, row[1], *counted, n.output_tokens, row[7], n.embedded),
            *(*row[9:13], n.tier, n.speed, n.quality, None),
        )

    def _costs(self, costs: Sequence[int], embedded: Sequence[int]) -> data.Column:
        if self._mode == DISPLAY:
            return packed(embedded)
        if self._mode == CALCULATE or max(embedded) < 0:
            return packed(costs)
        return packed([cost if given < 0 else given for cost, given in zip(costs, embedded, strict=True)])

    def _notes(self, names: _Names, embedded: Sequence[int], *columns: Sequence[Any]) -> data.Column:
        """What is to be said of each request: requests are of few kinds."""
        given = [one >= 0 for one in embedded] if max(embedded) >= 0 else [False] * len(embedded)
        kinds = list(zip(given, *columns, strict=True))
        places = {kind: names.text(self._note(*kind)) for kind in set(kinds)}
        only = places[kinds[0]]
        return only if len(places) == 1 else packed([places[kind] for kind in kinds])

    def _note(self, embedded: bool, tier: int | str, speed: int | str, quality: int) -> str:
        told = [text if isinstance(text, str) else self._labels[text] for text in (tier, speed)]
        notes = [
            QUALITIES[quality].value if quality != _EXACT else "",
            "embedded" if embedded and self._mode != CALCULATE else "",
            *(text for text in told if text not in _PLAIN),
        ]
        return " ".join(filter(None, notes))


class _Names:
    """Texts that requests share, each once."""

    def __init__(self, labels: Labels) -> None:
        self.texts = [""]
        self._labels = labels
        self._places = {"": 0}
        self._numbers: dict[int, int] = {}

    def places(self, numbers: tuple[int, ...]) -> data.Column:
        """The places of labels."""
        known = self._numbers
        for number in set(numbers) - known.keys():
            known[number] = self.text(self._labels[number])
        column = packed(numbers)
        return known[column] if isinstance(column, int) else [known[number] for number in column]

    def text(self, text: str) -> int:
        """The place of a text."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.texts)
            self.texts.append(text)
        return place


def _of_model(model: str, amount: Amount) -> data.ModelAmount:
    return data.ModelAmount(
        model=model,
        requests=amount.requests,
        input=amount.input,
        cache_write_5m=amount.cache_write_5m,
        cache_write_1h=amount.cache_write_1h,
        cache_read=amount.cache_read,
        output=amount.output,
        reasoning=amount.reasoning,
        cost=amount.cost,
        unpriced_requests=amount.unpriced_requests,
        lower_bound_requests=amount.lower_bound_requests,
    )

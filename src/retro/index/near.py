"""Words near to one that stands nowhere: it goes on, it was mistyped, or two letters of it changed places."""

from __future__ import annotations

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    import apsw

MOST = 3
LONGEST = 40
MOST_LOOKED_AT = 20_000
"""Words of the index that are compared with one; those that begin alike come first."""


def near(connection: apsw.Connection, word: str) -> list[str]:
    """Up to three words of the index, nearest first, then by how often they stand there."""
    if len(word) < 3 or len(word) > LONGEST:
        return []
    allowed = 1 if len(word) < 7 else 2
    for same in (2, 1):
        found: list[tuple[int, int, str]] = []
        start = word[:same]
        query = "SELECT term, doc FROM passage_word WHERE term >= ? AND term < ? LIMIT ?"
        for term, count in connection.execute(query, (start, start + "\U0010ffff", MOST_LOOKED_AT)):
            if len(term) > len(word) and term.startswith(word):
                found.append((1, -count, term))
            elif abs(len(term) - len(word)) <= allowed and len(term) > 2:
                steps = distance(word, term, allowed)
                if steps <= allowed:
                    found.append((steps, -count, term))
        if found:
            return [term for _, _, term in sorted(found)[:MOST]]
    return []


def distance(one: str, other: str, most: int) -> int:
    """How many letters have to be changed, added, left out or swapped with the next; `most` + 1 for more than that."""
    if one == other:
        return 0
    width = len(other)
    before_last: list[int] = []
    last = list(range(width + 1))
    for row, letter in enumerate(one, 1):
        here = [row]
        least = row
        for column in range(1, width + 1):
            cost = letter != other[column - 1]
            steps = min(last[column] + 1, here[column - 1] + 1, last[column - 1] + cost)
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == other[column - 1]:
                steps = min(steps, before_last[column - 2] + 1)
            here.append(steps)
            least = min(least, steps)
        if least > most:
            return most + 1
        before_last, last = last, here
    return min(last[width], most + 1)

"""Finding turns and sessions by words: candidates by the rarest, graded, joined by turn, shown with the hit marked.

On the light path: only small modules of the standard library, and apsw.
"""

from __future__ import annotations

from retro.index import grading
from retro.index.hits import Filters, Found, Hit
from retro.index.joining import CONTEXT, joined
from retro.index.query import Term, parse, stems, tokenizer
from retro.index.snippets import literal, marked

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    import apsw

    from retro.index.grading import Row
    from retro.index.query import Query

MOST_UNWANTED = 50_000

MOST_PHRASES = 64
"""Most telling words of a description that are looked for."""


def search(
    connection: apsw.Connection,
    text: str,
    filters: Filters | None = None,
    limit: int = 10,
    *,
    by_session: bool = False,
    exact: bool = False,
) -> Found:
    """The turns (or sessions) that fit best, best first; of equals the newest."""
    found = Found()
    query = parse(text, tokenizer(connection), stems(connection), exact=exact)
    groups = ranked(connection, query, filters or Filters(), limit, found, by_session=by_session, exact=exact)
    found.hits = groups[:limit]
    show(connection, found, query)
    return found


def show(connection: apsw.Connection, found: Found, query: Query) -> None:
    """Say of each hit what it is, and mark the words in it."""
    describe(connection, found.hits)
    near_words = [Term(word, [(word,)]) for words in found.used.values() for word in words]
    marked(connection, found.hits, [*query.wanted, *near_words])


def ranked(
    connection: apsw.Connection,
    query: Query,
    filters: Filters,
    limit: int,
    found: Found,
    *,
    by_session: bool = False,
    exact: bool = False,
) -> list[Hit]:
    """Turns or sessions by how well they fit, without what is shown of them."""
    known, total = _known(connection, query, found, exact=exact)
    if not known:
        return []
    sessions = next(connection.execute("SELECT coalesce(max(id), 0) FROM session"))[0] if by_session else 0
    most = None if exact else limit
    context = CONTEXT * (len(known) > 1)  # each turn has the only word itself
    groups: list[Hit] = []
    unwanted = _unwanted(connection, query, by_session)
    if not query.described and not found.missing:
        worth = grading.weights(known, total, sessions)
        rows = grading.graded(connection, [term for term, _ in known], [], worth, filters, found)
        if sessions:
            grading.weigh_by_session(rows, known, sessions)
        groups = joined(rows, by_session, unwanted, context, most)
    if exact:
        return literal(connection, groups, query, limit)
    if not groups:
        rows = _some(connection, known, total, sessions, filters, found)
        groups = joined(rows, by_session, unwanted, context, most if query.described else None)
        whole = [hit for hit in groups if hit.coverage == len(known)]
        found.all_words = found.all_words and bool(whole) and not found.missing
        if found.all_words and not query.described:  # in several passages of one turn
            return whole
    return groups


def weighed(connection: apsw.Connection, query: Query, filters: Filters, found: Found) -> list[Row]:
    """Passages with some of the words, each with what these are worth in it: for who joins them by himself."""
    known, total = _known(connection, query, found)
    return _some(connection, known, total, 0, filters, found) if known else []


def _known(
    connection: apsw.Connection, query: Query, found: Found, *, exact: bool = False
) -> tuple[list[tuple[Term, int]], int]:
    """The terms that stand in the index, the rarest first, each with how often; and how many passages there are."""
    total = next(connection.execute("SELECT coalesce(max(id), 0) FROM passage"))[0]
    known: list[tuple[Term, int]] = []
    for term in query.wanted:
        known += _standing(connection, term, total, found, exact)
    known.sort(key=lambda pair: pair[1])
    return known, total


def _some(
    connection: apsw.Connection,
    known: list[tuple[Term, int]],
    total: int,
    sessions: int,
    filters: Filters,
    found: Found,
) -> list[Row]:
    """Passages with some of the most telling terms."""
    looked_at = _most_telling(known, total)
    rare = _rarest(looked_at)
    rest = [term for term, _ in looked_at[len(rare) :]]
    worth = grading.weights(looked_at, total, sessions)
    rows = grading.graded(connection, rare, rest, worth, filters, found, some=True)
    if sessions:
        grading.weigh_by_session(rows, looked_at, sessions)
    return rows


def _standing(connection: apsw.Connection, term: Term, total: int, found: Found, exact: bool) -> list[tuple[Term, int]]:
    """A term and how often it stands in the index; where it does not, its words, or those near to it."""
    count = _frequency(connection, term, total)
    if count:
        return [(term, count)]
    single = {word for variant in term.variants for word in variant}
    if not exact and not term.quoted and not term.prefix and len(single) > 1:
        parts = [Term(word, [(word,)]) for word in term.variants[-1]]
        standing = [(part, times) for part in parts if (times := _frequency(connection, part, total))]
        if standing:
            found.all_words = found.all_words and len(standing) == len(parts)
            return standing
    if not exact and not term.quoted and not term.prefix and len(single) == 1:
        from retro.index.near import near  # seldom needed, and on the light path

        words = near(connection, stems(connection)(term.variants[0][0]))
        others = Term(term.given, [(word,) for word in words])
        count = _frequency(connection, others, total) if words else 0
        if count:
            found.used[term.given] = words
            return [(others, count)]
    found.missing.append(term.given)
    return []


def _most_telling(known: list[tuple[Term, int]], total: int) -> list[tuple[Term, int]]:
    """Of very many words those that are rare or asked for often, the rarest first."""
    if len(known) <= MOST_PHRASES:
        return known
    by_weight = sorted(known, key=lambda pair: -grading.weight(pair[0], pair[1], total))
    return sorted(by_weight[:MOST_PHRASES], key=lambda pair: pair[1])


def _rarest(known: list[tuple[Term, int]]) -> list[Term]:
    """Words that together choose no more passages than can be graded, at least one."""
    chosen: list[Term] = []
    together = 0
    for term, count in known:
        together += count
        if chosen and together > grading.MOST_CANDIDATES:
            break
        chosen.append(term)
    return chosen


def _frequency(connection: apsw.Connection, term: Term, total: int) -> int:
    """In how many passages a term stands; where it is many, estimated from how close together the newest are."""
    query = (
        "SELECT count(*), min(rowid) FROM (SELECT rowid FROM passage_text WHERE passage_text MATCH ?"
        " ORDER BY rowid DESC LIMIT ?)"
    )
    count, last = next(connection.execute(query, (term.expression(), grading.MOST_CANDIDATES + 1)))
    if count <= grading.MOST_CANDIDATES:
        return int(count)
    return int(max(count, count * total // max(total - last + 1, 1)))


def _unwanted(connection: apsw.Connection, query: Query, by_session: bool) -> set[tuple[int, int]]:
    """Sessions with their turns in which something unwanted stands; of the newest, where those are very many."""
    if not query.unwanted:
        return set()
    expression = " OR ".join(term.expression() for term in query.unwanted)
    sql = (
        "SELECT session, turn FROM passage_text JOIN passage ON passage.id = passage_text.rowid"
        " WHERE passage_text MATCH ? ORDER BY passage_text.rowid DESC LIMIT ?"
    )
    found = connection.execute(sql, (expression, MOST_UNWANTED))
    return {(session, 0 if by_session else turn) for session, turn in found}


# --- what is shown ---------------------------------------------------------------------------------------------------


def describe(connection: apsw.Connection, hits: list[Hit]) -> None:
    """Say of each hit which session and turn it is."""
    for hit in hits:
        query = "SELECT host, session_id, title, project, repository, branch, cwd, started FROM session WHERE id = ?"
        (row,) = connection.execute(query, (hit.number,))
        hit.host, hit.session_id, hit.title, hit.project, hit.repository, hit.branch, hit.cwd, started = row
        if hit.turn is None:
            query = "SELECT event_id FROM turn WHERE session = ? ORDER BY turn LIMIT 1"
            hit.events = [event_id for (event_id,) in connection.execute(query, (hit.number,))]
        else:
            query = "SELECT prompt, started, files FROM turn WHERE session = ? AND turn = ?"
            for prompt, began, files in connection.execute(query, (hit.number, hit.turn)):
                hit.prompt, hit.started = prompt, began or hit.started
                hit.files = _list(files)
        hit.started = hit.started or started


def _list(text: str) -> list[str]:
    if "\\" not in text:  # nearly always; loading a parser takes longer than all the rest
        return text[2:-2].split('","') if text != "[]" else []
    from json import loads

    return list(loads(text))

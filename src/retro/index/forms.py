"""Words that belong together though no rule for endings says so: went and go, children and child, colour and color.

On the light path: one table, looked through by the first letters of a word.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Callable

_FAMILIES = (
    *("beat beaten", "become became", "begin began begun", "bend bent", "bind bound", "bite bitten", "bleed bled"),
    *(
        "blow blew blown",
        "break broke broken",
        "breed bred",
        "bring brought",
        "build built",
        "burn burnt",
        "buy bought",
    ),
    *("catch caught", "choose chose chosen", "come came", "creep crept", "deal dealt", "dig dug", "dream dreamt"),
    *("draw drew drawn", "drink drank drunk", "drive drove driven", "eat ate eaten", "fall fell fallen", "feed fed"),
    *("feel felt", "fight fought", "find found", "flee fled", "fly flew flown", "forget forgot forgotten"),
    *("forgive forgave forgiven", "freeze froze frozen", "give gave given", "go went gone", "grow grew grown"),
    *("hang hung", "hear heard", "hide hid hidden", "hold held", "keep kept", "know knew known", "lay laid"),
    *("lead led", "learn learnt", "leave left", "lend lent", "lose lost", "make made", "mean meant", "meet met"),
    *("pay paid", "ride rode ridden", "ring rang rung", "rise rose risen", "run ran", "say said", "see saw seen"),
    *("seek sought", "sell sold", "send sent", "shake shook shaken", "shine shone", "shoot shot", "show shown"),
    *("shrink shrank shrunk", "sing sang sung", "sink sank sunk", "sit sat", "sleep slept", "speak spoke spoken"),
    *("spend spent", "spin spun", "spring sprang sprung", "stand stood", "steal stole stolen", "stick stuck"),
    *("strike struck", "swear swore sworn", "sweep swept", "swim swam swum", "swing swung", "take took taken"),
    *("teach taught", "tear tore torn", "tell told", "think thought", "throw threw thrown", "understand understood"),
    *("wake woke woken", "wear wore worn", "weave wove woven", "weep wept", "win won", "wind wound"),
    *("withdraw withdrew withdrawn", "write wrote written", "overwrite overwrote overwritten"),
    *("child children kid kids", "foot feet", "goose geese", "half halves", "knife knives", "leaf leaves"),
    *("life lives", "man men", "mouse mice", "person people", "shelf shelves", "thief thieves", "tooth teeth"),
    *("wife wives", "wolf wolves", "woman women", "index indices", "matrix matrices", "vertex vertices"),
    *("dad daddy father", "mom mum mommy mummy mother", "grandma granny grandmother", "grandpa granddad grandfather"),
    *("center centre", "color colour", "favorite favourite", "flavor flavour", "gray grey", "honor honour"),
    *(
        "humor humour",
        "jewelry jewellery",
        "labor labour",
        "neighbor neighbour",
        "theater theatre",
        "behavior behaviour",
    ),
    *("analyze analyse", "license licence", "program programme", "catalog catalogue", "dialog dialogue"),
)
_MEMBERS = {word: tuple(line.split()) for line in _FAMILIES for word in line.split()}


def forms(word: str, stem: Callable[[str], str]) -> tuple[str, ...]:
    """The words that a word, in small letters, goes with, without those that its own stem finds."""
    family = _MEMBERS.get(word)
    root = stem(word)
    if family is None:
        start = word[:2]
        family = next((_MEMBERS[one] for one in _MEMBERS if one[:2] == start and stem(one) == root), ())
    found = {root}
    return tuple(one for one in family if (of := stem(one)) not in found and not found.add(of))  # type: ignore[func-returns-value]

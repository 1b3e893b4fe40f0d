"""English words by what they say in a statement: values, denial, change, and common synonyms."""

from __future__ import annotations

import re

from septet._core import index_terms

#: Words that say nothing of a fact; words of change and denial are known apart.
_STOP = """
a an the this that these those there here it its is are was were be been being am has have had having do does did done
i we you he she they me us him her them my our your his their mine ours who whom whose which what where when how why
of on in at to for from by with as into over under and or but so than then too also just very really quite only still
will would shall should can could may might must if while because about out up down off per each every any some all
get gets got getting go goes going make makes made keep keeps take takes took put set let one ones thing things please
user assistant note remember already well kind sort way lot called named using use uses used run runs running
now currently today lately recently
via through onto upon toward towards roughly approximately around circa rather name
"""
#: Words that deny a statement, as they stand or as stems; those of other languages, as far as English lacks the word.
DENIALS = frozenset(
    """
    not no never cannot without none neither nor nt dont doesnt didnt isnt arent wasnt wont
    nicht kein keine keinen keinem keiner nie niemals ohne niet geen nooit zonder inte aldrig utan ikke aldri
    ne pas jamais aucun aucune sans nunca ningún ninguna não sem non senza nie nigdy не нет никогда без değil yok 안 못
    """.split()
)
#: Words that say that something is other than before.
CHANGES = re.compile(
    r"\b(?:now|no longer|any ?more|from now on|as of|these days"
    r"|since (?:last|the|this|yesterday|jan\w*|feb\w*|mar(?:ch)?|apr\w*|may|june?|july?"
    r"|aug\w*|sept?\w*|oct\w*|nov\w*|dec\w*)|instead|updat\w+|chang\w+"
    r"|switch\w*|mov(?:e|ed|ing)|migrat\w+|replac\w+|renam\w+|reschedul\w+|postpon\w+|delay(?:ed)?|slipped|extend\w*"
    r"|shorten\w*|rais(?:e|ed)|increas\w+|decreas\w+|reduc\w+|lower\w*|rose|fell|grow\w*|grew|improv\w+|upgrad\w+"
    r"|downgrad\w+|new|became|becomes|took over|takes over|gave up|left|stopp?(?:ed|s)?|quit|went (?:up|down|from)"
    r"|ha(?:s|ve) (?:been|now|grown|reached)|reached|added|cut (?:from|to)|correct(?:ed|ion)|actually|not any ?more"
    r"|brought)\b",
    re.IGNORECASE,
)
#: Verbs whose end of validity is in the word: `stopped`, `quit`.
_ENDED = "stopped quit ceased abandoned refuses refused gave-up".split()
#: The forms of them that are words of change, too.
ENDING = frozenset({"stop", "stops", "stopped", "quit"})
#: Pairs of opposites: the second is the denial of the first.
_OPPOSITES = """
enabled/disabled like/hate like/dislike allow/forbid allow/deny allow/prohibit allow/block open/closed public/private
accept/reject always/never on/off present/absent possible/impossible required/optional valid/invalid true/false
active/inactive success/fail safe/unsafe online/offline supported/unsupported available/unavailable agree/disagree
encrypted/unencrypted known/unknown include/exclude visible/hidden hot/cold easy/hard above/below before/after
"""
#: Synonyms in a line; the first word stands for all.
_SYNONYMS = """
live reside based home
own owner owns responsible responsibility charge maintain maintained handle handles
lead leader leads led head boss
deadline due until finish finished submit
like prefer preferred prefers love favourite favorite enjoy best fond
work works job employ employed employer employs
begin begins start starts commence kick-off place
end ends expire expires abort aborted
meeting meet call session appointment
limit limited most maximum max cap ceiling up
least minimum min smaller
store stored stores save saved saves kept keep hold holds retain retained retention
delete deleted remove removed erase
deploy deployed deployment rollout
release released ship ships publish published
cost costs price pay fee rent
host hosted hosts machine
contain contains consist consists
write writes written produce produces generate generates output
memory ram
review reviews reviewed reviewer
goal target aim aims
respond responds response answer
indent indents indentation
authenticate authenticates authentication login log
study studies studied student enrolled
separate separates separator separators
speak speaks fluent languages language
allergic allergy allergically
return returns
brief briefly short
address located
car vehicle
send sent sends
buy bought purchase purchased
guarantee guarantees guaranteed
allow allows allowed permit permitted support supports
need needs require required requires
lifetime expiry ttl
expire lasts last
repo repository
db database
config configuration
doc documentation docs
app application
install installed installs installation
back backup backups backed
use uses using
find found reach reached
notify notifies notified
arrive arrives arrived arrival
travel travels travelled
forbidden prohibited banned disallowed
choose chooses chosen pick picks picked select selects selected
fix fixes fixed repair repairs repaired
provide provides provided supply supplies
receive receives received
weigh weighs weight
smoke smokes smoking
drink drinks
play plays
teach teaches taught
drive drives
marry marries married wed wedding
"""
#: Verbs that each say another thing where the other words are the same: `lives in`, `works in`.
_ACTS = """
live work own lead send buy cost speak study write read review delete install host teach drive smoke drink play travel
marry eat meet visit run test print sell call pay cook paint sleep
"""
#: Synonyms of things and qualities, which tell statements apart as other words do.
_THINGS = """
born birthday birth birthdate
age old aged
child children kid kids
doctor physician
flat apartment
vacation holiday
salary wage wages
occupation profession
bug defect
folder directory
url link
colour color
fast quick rapid
email e-mail
website site
picture image photo
film movie
trip journey
high height tall
long length
wide width
deep depth
phone telephone
"""
#: Words of a role that one person has at a time: another person in it is a change, not another fact.
_ROLES = "own lead review host cto ceo cfo manager president chair captain assigned on-call support"
#: Words of attributes with many values at a time, and of events: another value is another fact.
_MANY = """
speak allergic replica also another member child pet hobby saw visited met bought watched attended read ate
"""
#: Verbs, which end the subject of a statement, beside those among the stop words.
_VERBS = """
is are was were be been has have had do does did will would can could may must should runs uses use used lives works
owns leads prefers likes hates needs requires allows keeps stores stored listens times costs pays writes produces
generates has contains consists starts begins takes ends ships speaks studies plays moved migrated switched changed
updated upgraded raised increased went goes responds authenticates logs aims reviews maintains eats drinks became left
gave retain back find publish cause reacts belongs hosts employs employed
"""
#: The measure of a unit, and one name for all its spellings.
UNITS = {
    **dict.fromkeys("ms msec millisecond milliseconds".split(), ("duration", "ms")),
    **dict.fromkeys("s sec secs second seconds".split(), ("duration", "s")),
    **dict.fromkeys("min mins minute minutes".split(), ("duration", "min")),
    **dict.fromkeys("h hr hrs hour hours".split(), ("duration", "h")),
    **dict.fromkeys("d day days".split(), ("duration", "d")),
    **dict.fromkeys("week weeks".split(), ("duration", "week")),
    **dict.fromkeys("month months".split(), ("duration", "month")),
    **dict.fromkeys("year years".split(), ("duration", "year")),
    **dict.fromkeys("usd dollar dollars $".split(), ("money", "usd")),
    **dict.fromkeys("eur euro euros €".split(), ("money", "eur")),
    **dict.fromkeys("gbp pound pounds £".split(), ("money", "gbp")),
    **dict.fromkeys("% percent".split(), ("share", "%")),
    **dict.fromkeys("pixel pixels px".split(), ("pixels", "px")),
    **{unit: ("size", unit) for unit in "kb mb gb tb".split()},
    **{unit: ("length", unit) for unit in "mm cm km".split()},
}
#: Units of one measure: how many of the smallest one each is.
MEASURES = {
    "ms": (1, "ms"),
    "s": (1_000, "ms"),
    "min": (60_000, "ms"),
    "h": (3_600_000, "ms"),
    "d": (86_400_000, "ms"),
    "week": (604_800_000, "ms"),
    "month": (1, "month"),
    "year": (12, "month"),
    "mm": (1, "mm"),
    "cm": (10, "mm"),
    "km": (1_000_000, "mm"),
}
#: Units of data, each 1,000 or 1,024 of the one before.
BYTES = ("kb", "mb", "gb", "tb")
FREQUENCIES = {"hourly": "h", "daily": "d", "nightly": "d", "weekly": "week", "monthly": "month", "yearly": "year"}
SCALES = {"k": 10**3, "thousand": 10**3, "million": 10**6, "m": 10**6, "billion": 10**9}
_COUNTED = "two three four five six seven eight nine ten eleven twelve".split()
NUMBERS = {word: str(number) for number, word in enumerate(_COUNTED, start=2)} | {
    word: str(10 * number) for number, word in enumerate("twenty thirty forty fifty sixty".split(), start=2)
}
_MONTH_NAMES = "january february march april may june july august september october november december".split()
MONTHS = {name[:length]: f"{at:02}" for at, name in enumerate(_MONTH_NAMES, 1) for length in (3, 4, len(name))}
#: Month names that are words of their own without a day.
DOUBTFUL_MONTHS = frozenset({"may", "mar", "marc"})
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS = {name + plural: name[:3] for name in _DAY_NAMES for plural in ("", "s")}


def _stems(words: str) -> list[str]:
    """Return the stems of words; parts of a word with a hyphen are words."""
    return [term.decode("utf-8", "replace") for term in index_terms(words)]


STOP = frozenset(_STOP.split()) - DENIALS
VERBS = frozenset(_VERBS.split())
#: Words that show that a text is English: no frequent words of other languages.
ENGLISH = (STOP | VERBS) - frozenset(
    "a all also am an as at die do has he her i in man me name note on or over per so use was will rather via".split()
)
ROLES = frozenset(_stems(_ROLES))
MANY = frozenset(_stems(_MANY))
ENDED = frozenset(_stems(" ".join(_ENDED)))


def _canon(table: str) -> dict[str, str]:
    """Return the first stem of its line for each stem; the first line counts."""
    lines = map(_stems, reversed(table.strip().splitlines()))
    return {stem: stems[0] for stems in lines for stem in stems}


_OF_VERBS = _canon(_SYNONYMS)
#: The stem that stands for a stem.
CANON = {**_canon(_THINGS), **_OF_VERBS}
#: Stems of verbs, and of words with synonyms among them.
COMMON = frozenset(_OF_VERBS) | frozenset(_stems(_VERBS))
ACTS = frozenset(CANON.get(stem, stem) for stem in _stems(_ACTS))
#: A stem to the stem that it is the opposite of.
OPPOSITES = {
    _stems(second)[0]: CANON.get(_stems(first)[0], _stems(first)[0])
    for first, second in (pair.split("/") for pair in _OPPOSITES.split())
}

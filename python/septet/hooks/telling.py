"""The text for the model: what a vault knows at the start of a session, and about a prompt."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from septet.hooks import state
from septet.hooks.calls import HookCall, HookOptions, HookOutput
from septet.hooks.programs import PROGRAMS
from septet.inputs.session_log import call_line, safe_name, version_line
from septet.search.context import ContextRequest

if TYPE_CHECKING:
    from septet.model.results import Hit
    from septet.vault import Vault

#: Maximum characters of a prompt that is searched as it is. The beginning and the end of a longer one name its subject:
#: the query is these words from both, as a search takes no more.
MOST_CHARS, MOST_WORDS = 1_000, 100
#: Bytes read at the end of a transcript, and messages of the user in them, that a compacted session goes on with.
TAIL_BYTES, TAIL_MESSAGES = 65_536, 2
#: Sources of a start after which the model has lost what was printed before.
_LOST = frozenset({"", "startup", "clear", "compact"})
_OPTIONS: Mapping[str, Any] = {"include_memories": True, "profile": "conversation"}
_WORD = re.compile(r"\w+")
#: Words of prompts without a topic, beside the stop words of searches.
_EMPTY = frozenset(
    """
    again agree agreed alright also bye cancel carry cheers continue correct done exactly excellent fine fix forward go
    going good great hello hey hi hmm it keep let lgtm looks maybe more move nah never next nice no nope now ok okay one
    perfect please proceed ready resume retry right same sorry start stop sure test thank thanks then try undo wait well
    works wrong yeah yep yes you your yup
    ja nein weiter bitte danke gut mach oui non merci suite vas si gracias sigue sim obrigado da net dalee
    да нет дальше 是 好 好的 继续 はい いいえ 続けて 네 아니요 계속
    """.split()
)


def output_of(vault: Vault, call: HookCall, options: HookOptions) -> HookOutput:
    """Return the output of a hook as its program documents it; empty if the vault has nothing that fits.

    It is on record only when it was handed over (`state.add_lines`): of a call that was late nothing was printed.

    Raises:
        SeptetError: the vault cannot be read.
    """
    begins = call.first or call.work == "start"
    if begins and call.source in _LOST:
        state.forget_ids(call.session, begins=call.source in ("startup", "clear"))
    query = _query(call)
    if not (begins or query):
        return HookOutput()
    known, own = state.known_ids(call.session), _own_transcript(call)
    since = state.compacted_at(known)
    context = vault._context(
        ContextRequest(
            query,
            _OPTIONS,
            options.max_tokens,
            options.min_confidence,
            pins=begins,
            skips=lambda hit: _version(hit) in known or _is_of(hit, own, since),
        )
    )
    if not context.text:
        return HookOutput()
    lines = [call_line(time.time(), options.program, vault.path), *(_version(item.hit) for item in context.items)]
    value = PROGRAMS[options.program].output(call.event, context.text)
    return HookOutput(json.dumps(value, ensure_ascii=True).encode() + b"\n", call.session, lines)


def has_topic(text: str) -> bool:
    """Return True if a prompt has a word that a search could be about."""
    from septet._core import stop_words

    words = {word.lower() for word in _WORD.findall(query_of(text))}
    return any(len(word) > 1 and not word.isdigit() for word in words - _EMPTY - frozenset(stop_words()))


def query_of(text: str) -> str:
    """Return the part of a prompt to search: all of a short one, words of the beginning and the end of a long one."""
    if len(text) <= MOST_CHARS:
        return text
    ends = text[: 8 * MOST_CHARS], text[-8 * MOST_CHARS :]
    first, last = (list(dict.fromkeys(word.lower() for word in _WORD.findall(end))) for end in ends)
    return " ".join(dict.fromkeys((*first[:MOST_WORDS], *last[-MOST_WORDS:])))


def _query(call: HookCall) -> str:
    """Return the words to search for; empty without a topic."""
    query = query_of(call.prompt)
    if call.work == "start":
        query = _last_messages(call.transcript) if call.source in ("compact", "resume") else ""
        query = query or " ".join(_WORD.findall(os.path.basename(call.folder.rstrip("/\\")).replace("_", " ")))
    return query if has_topic(query) else ""


def _last_messages(transcript: str) -> str:
    """Return the last messages of the user in a transcript; empty if it cannot be read."""
    from septet.files.transcripts import hear

    messages: list[str] = []
    if not os.path.isfile(transcript):
        # A pipe would be waited for.
        return ""
    # No path of a file is a `ValueError`.
    with suppress(OSError, ValueError), open(transcript, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        for line in reversed(file.read(TAIL_BYTES).split(b"\n")):
            with suppress(ValueError):
                message = hear(line) if line.strip() else None
                if message is not None and message.role == "user" and has_topic(message.text):
                    messages.append(query_of(message.text))
            if len(messages) == TAIL_MESSAGES:
                break
    return " ".join(reversed(messages))


def _own_transcript(call: HookCall) -> str:
    """Return the name of the transcript of a session, empty if unknown; `write_transcript` names its own by the id."""
    return os.path.basename(call.transcript) if call.transcript else f"{safe_name(call.session)}.jsonl"


def _is_of(hit: Hit, transcript: str, since: float) -> bool:
    """Return True for a part of a transcript after a time: the model has that still."""
    entry = hit.entry
    if entry is None or entry.span is None:
        return False
    return entry.span.path.rpartition("/")[2] == transcript and entry.updated_at > since


def _version(hit: Hit) -> str:
    changed = 0.0 if hit.entry is None else hit.entry.updated_at
    return version_line(hit.id, changed)

"""Secrets in command lines, variables and text → `***`. The one place that says what a secret looks like.

By name: the value of an option or variable called token, key, password, … By form: keys with a known prefix,
long random text, the user part of an address. `native/agent/process/secrets.cpp` does the same for the command
line in a raw log; tests/data/secrets.json holds the cases that both must agree on. It hides what looks like
a secret, so it may hide too much and can miss one: docs/privacy.md says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

HIDDEN = "***"

_WEAK = ("token", "auth", "key")  # names with many harmless uses: a small number or a yes stays
_EXACT = {
    *("key", "pass", "pwd", "jwt", "cookie", "bearer", "authorization", "passphrase", "psk", "sas"),
    *("accesskey", "secretkey", "privatekey", "authkey", "apikey"),
}
_ENDS = ("token", "auth", "apikey")
_HOLDS = ("secret", "passw", "credential")
_SEGMENTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HARMLESS = re.compile(r"\d{0,6}|true|false|none|null|yes|no|on|off|auto", re.IGNORECASE)
# name, what stands between, value: `token=x`, `"api_key": "x"`, `Authorization: Bearer x`
_PAIR = re.compile(r"([A-Za-z0-9_.-]+)[\"']?[ \t]*[=:](?!//)[ \t]*(?:Bearer |Basic )?[\"']?")
_VALUE = re.compile(r"[^\s\"'&;,})]+")
_USER = re.compile(r"(://)[^/?#\s@]*(?:@[^/?#\s@]*)*(@)")
_RUN = re.compile(r"[A-Za-z0-9_+-]{16,}")
_PART = re.compile(r"[A-Za-z0-9_+]{20,}")  # no dash: the parts of a UUID are no secret
_PREFIXES = (
    *("sk-", "sk_", "rk_", "pk_live", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("AKIA", "ASIA", "AIza", "xox", "eyJ", "npm_", "pypi-", "dop_v1_", "nvapi-", "gsk_", "r8_", "wandb_v1_"),
)
MIN_RANDOM, MIN_RANDOM_LETTERS = 20, 32
RANDOM_CHANGES = 0.3  # changes of kind (a, A, 1) per character: about 0.5 in random text, 0.1 in names


def hide_command(words: Sequence[str]) -> list[str]:
    """A command line without its secrets."""
    shown: list[str] = []
    name = ""  # of the option before, when its value is to be hidden
    for word in words:
        if name and not word.startswith("-") and not _is_harmless(name, word):
            shown.append(HIDDEN)
            name = ""
            continue
        shown.append(hide_text(word))
        name = word if word.startswith("-") and "=" not in word and is_secret_name(word) else ""
    return shown


def hide_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables without secret values; all names stay."""
    return {name: _hide_value(name, value) for name, value in variables.items()}


def hide_text(text: str) -> str:
    """One argument or line without its secrets."""
    name, found, value = text.partition("=")
    if found and re.fullmatch(r"[-+A-Za-z0-9_./]+", name) and is_secret_name(name):
        return f"{name}={_hide_value(name, value)}"
    text = _USER.sub(rf"\1{HIDDEN}\2", text)
    text = _hide_pairs(text)
    return _PART.sub(lambda part: HIDDEN if _is_random(part[0]) else part[0], hide_keys(text))


def hide_keys(text: str) -> str:
    """Text without keys of a known form; nothing else in it is changed."""
    return _RUN.sub(lambda run: HIDDEN if _is_key(run[0]) else run[0], text)


def is_secret_name(name: str) -> bool:
    """Does an option or variable of this name hold a secret?"""
    return _secret_segment(name) is not None


def _secret_segment(name: str) -> str | None:
    for segment in _SEGMENTS.finditer(name):
        word = segment[0].lower()
        if word in _EXACT or word.endswith(_ENDS) or any(part in word for part in _HOLDS):
            return word
    return None


def _is_harmless(name: str, value: str) -> bool:
    return (_secret_segment(name) or "").endswith(_WEAK) and _HARMLESS.fullmatch(value) is not None


def _hide_value(name: str, value: str) -> str:
    if not is_secret_name(name):
        return hide_text(value)
    return value if _is_harmless(name, value) or not value else HIDDEN


def _hide_pairs(text: str) -> str:
    shown, at = "", 0
    while pair := _PAIR.search(text, at):
        value = _VALUE.match(text, pair.end())
        hide = value and is_secret_name(pair[1]) and not _is_harmless(pair[1], value[0])
        shown += text[at : pair.end()] + (HIDDEN if hide else "")
        at = value.end() if value and hide else pair.end()
    return shown + text[at:]


def _is_key(run: str) -> bool:
    mixed = any(c.isupper() for c in run) and any(c.islower() for c in run[3:])
    return run.startswith(_PREFIXES) and (mixed or any(c.isdigit() for c in run))


def _is_random(run: str) -> bool:
    kinds = ["0" if c.isdigit() else "a" if c.islower() else "A" if c.isupper() else "" for c in run]
    changes = sum(a != b for a, b in pairwise(kinds) if a and b)
    enough = MIN_RANDOM if "0" in kinds else MIN_RANDOM_LETTERS
    return len(run) >= enough and changes >= RANDOM_CHANGES * len(run)

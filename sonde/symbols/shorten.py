"""Short names for people from demangled C++ names; the full name is kept beside them.

    void at::native::DEFAULT::vectorized_loop<at::native::(anonymous namespace)::foo(...)::…>(char**, long)
    → at::native::DEFAULT::vectorized_loop

What goes: return type, arguments, template arguments, anonymous and inline namespaces,
ABI tags, compiler clones, thunk prefixes. What stays: namespaces, classes,
operators, and that code is in a lambda (`{lambda}`) or an OpenMP body (`[omp]`).
C names and Rust's legacy names pass unchanged. Of a name that could not be demangled its outer part is read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sonde.symbols.outer_name import outer_name
from sonde.symbols.rust import short_path

_TOKEN = re.compile(r"->|[<>(){}\[\]]|\boperator\b")
_OPERATOR = re.compile(
    r"operator(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|\"\"\s*\w+|(?: new| delete)(?:\[\])?"
    r"|[-+*/%^&|!=<>]=|&&|\|\||\+\+|--|[-+*/%^&|~!=<>,])"
)
_CLONE = re.compile(r" \[clone ([^\]]*)\]")
_SUFFIX = re.compile(r"(?:\.(?:isra|constprop|part|cold|lto_priv|llvm|localalias)(?:\.\d+)*)+$")
_THUNK = re.compile(
    r"^(?:non-virtual thunk to |virtual thunk to |covariant return thunk to |guard variable for )"
)
_AFTER_ARGUMENTS = re.compile(r"(?: const| volatile| noexcept| &&?)+")
_LLVM_WORD = re.compile(r"'(lambda|unnamed)\d*'")  # LLVM's demangler: 'lambda0'(int) for {lambda(int)#2}
_ABI = re.compile(r"\[abi:[^\]]*\]")
_LONGEST = 200
_ANONYMOUS = "(anonymous namespace)"
_CLOSING = {">": "<", ")": "(", "}": "{", "]": "["}


@lru_cache(maxsize=65536)
def shorten(full: str) -> str:
    """The name for people. Never empty for a name that is not."""
    clones = "".join(_CLONE.findall(full))
    text = _THUNK.sub("", _ABI.sub("", _CLONE.sub("", full)))
    if text.startswith("<") or "::<" in text or "::{closure#" in text:  # no C++ name is like this
        return _clipped(short_path(text) or full)
    if text.startswith("_Z"):  # beyond the demangler
        return _clipped(outer_name(text) or full)
    if not re.search(r"[<({: ]", text):
        return _clipped(_SUFFIX.sub("", text) or full)
    short = _last_word(_skeleton(text))
    short = short.replace("std::__cxx11::", "std::").replace("std::basic_string", "std::string")
    short = _LLVM_WORD.sub(r"{\1}", short)
    short = re.sub(r"(\{lambda\})(?:::operator\(\))?(?:::\{lambda\}(?:::operator\(\))?)*", r"\1", short)
    short = _SUFFIX.sub("", short)
    if "_omp_fn" in clones or "_omp_fn" in full[-16:]:
        short += " [omp]"
    return _clipped(short or full)


def _clipped(name: str) -> str:
    """Names that could not be demangled run to thousands of characters."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _skeleton(text: str) -> str:
    """`text` without what is in brackets; operators and lambdas are kept as words."""
    kept: list[str] = []
    stack: list[str] = []  # open brackets
    at = 0
    while True:
        token = _TOKEN.search(text, at)
        if not stack:
            kept.append(text[at : token.start() if token else len(text)])
        if token is None:
            return "".join(kept)
        at = token.end()
        mark = token.group()
        if mark == "operator":
            if not stack:
                at = _keep_operator(text, token.start(), kept)
        elif mark in "<({[":
            if not stack and mark == "(" and text.startswith(_ANONYMOUS, token.start()):
                at = token.start() + len(_ANONYMOUS)
                if text.startswith("::", at):
                    at += 2
                continue
            if mark == "<" and stack and text[token.start() - 1] in ") ":
                continue  # a comparison inside a template argument
            if not stack and mark == "{":
                kept.append(_brace_name(text[token.start() :]))
            stack.append(mark)
        elif mark in _CLOSING and _CLOSING[mark] in stack:
            if mark == ">" and stack[-1] != "<":
                continue
            while stack and stack.pop() != _CLOSING[mark]:
                pass
            if not stack and mark == ")":
                after = _AFTER_ARGUMENTS.match(text, at)
                at = after.end() if after else at


def _keep_operator(text: str, start: int, kept: list[str]) -> int:
    symbol = _OPERATOR.match(text, start)
    if symbol:
        kept.append(symbol.group().replace(" ", "\0"))
        return symbol.end()
    end = text.find("(", start)  # conversion: operator unsigned long()
    end = len(text) if end < 0 else end
    kept.append(re.sub(r"<.*>", "", text[start:end]).replace(" ", "\0"))
    return end


def _brace_name(text: str) -> str:
    if text.startswith("{lambda"):
        return "{lambda}"
    if text.startswith("{unnamed"):
        return "{unnamed}"
    return ""


def _last_word(skeleton: str) -> str:
    """Drops the return type: everything before the last blank (blanks of operators are masked)."""
    words = skeleton.split()
    return words[-1].lstrip("*&").replace("\0", " ") if words else ""

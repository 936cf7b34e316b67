"""Rust's v0 names (`_RINv…`) → paths as Rust writes them, without the crates' hashes.

    _RINvCsjMaewn57Afh_1t5applyNCNvB2_4mains_0EB2_  →  t::apply::<t::main::{closure#1}>

In: a symbol's name. Out: the path, or None where it is no such name or not understood (RFC 2603 has the grammar).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

_BASIC = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize",
    "j": "usize", "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_", "s": "i16", "t": "u16",
    "u": "()", "v": "...", "x": "i64", "y": "u64", "z": "!",
}  # fmt: skip
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DEEPEST, _LONGEST = 200, 20_000  # a hostile name refers back to itself


class _NotUnderstood(Exception):
    pass


@lru_cache(maxsize=16384)
def demangle(name: str) -> str | None:
    """The path, None when `name` is no v0 name."""
    if not name.startswith("_R") or not name.isascii() or not name[2:3].isupper():
        return None
    try:
        return _Reader(name.partition(".")[0][2:]).path(in_value=True)
    except (_NotUnderstood, IndexError, ValueError, UnicodeError):
        return None


def short_path(path: str) -> str:
    """Without generic arguments, and `<Kind as Trait>` as the kind itself."""
    kind, rest = "", path
    if path.startswith("<"):
        end = _closing(path, 0)
        kind, rest = path[1:end], path[end + 1 :]
        level = 0
        for at, letter in enumerate(kind):
            level += (letter in "<([") - (letter in ">)]" and kind[at - 1] != "-")
            if level == 0 and kind.startswith(" as ", at):
                kind = kind[:at]
                break
    return _without_arguments(kind) + _without_arguments(rest)


def _without_arguments(path: str) -> str:
    kept, at = "", 0
    while (start := path.find("<", at)) >= 0:
        kept += path[at:start].removesuffix("::")
        at = _closing(path, start) + 1
    return kept + path[at:]


def _closing(path: str, start: int) -> int:
    """Where the bracket that opens at `start` closes; the end of the text when it does not."""
    level = 0
    for at in range(start, len(path)):
        if path[at] == "<":
            level += 1
        elif path[at] == ">" and path[at - 1] != "-":
            level -= 1
            if level == 0:
                return at
    return len(path)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.written = 0
        self.bound = 0  # lifetimes of enclosing `for<…>`

    def path(self, in_value: bool = False) -> str:
        self._deeper()
        try:
            return self._path(self._next(), in_value)
        finally:
            self.depth -= 1

    def _path(self, tag: str, in_value: bool) -> str:
        if tag == "C":
            self._disambiguator()
            return self._identifier()
        if tag == "M":
            self._impl_path()
            return self._spent(f"<{self.type()}>")
        if tag in "XY":
            if tag == "X":
                self._impl_path()
            kind, trait = self.type(), self.path()
            return self._spent(f"<{kind} as {trait}>")
        if tag == "N":
            space = self._next()
            outer = self.path(in_value)
            number = self._disambiguator()
            inner = self._identifier()
            if space.isupper():
                kind = {"C": "closure", "S": "shim"}.get(space, space)
                return self._spent(f"{outer}::{{{kind}{':' + inner if inner else ''}#{number}}}")
            return self._spent(f"{outer}::{inner}" if inner else outer)
        if tag == "I":
            outer = self.path(in_value)
            inside = ", ".join(self._until_end(self._argument))
            return self._spent(f"{outer}{'::' if in_value else ''}<{inside}>")
        if tag == "B":
            return self._again(lambda: self.path(in_value))
        raise _NotUnderstood

    def type(self) -> str:
        self._deeper()
        try:
            return self._spent(self._type())
        finally:
            self.depth -= 1

    def _type(self) -> str:
        tag = self._next()
        if tag in _BASIC:
            return _BASIC[tag]
        if tag == "A":
            kind, size = self.type(), self._constant()
            return f"[{kind}; {size}]"
        if tag == "S":
            return f"[{self.type()}]"
        if tag == "T":
            parts = self._until_end(self.type)
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if tag in "RQ":
            lifetime = self._lifetime() if self._takes("L") else ""
            return f"&{lifetime + ' ' if lifetime else ''}{'mut ' if tag == 'Q' else ''}{self.type()}"
        if tag in "PO":
            return f"*{'const' if tag == 'P' else 'mut'} {self.type()}"
        if tag == "F":
            return self._within_binder(self._function)
        if tag == "D":
            traits = self._within_binder(lambda: " + ".join(self._until_end(self._dyn_trait)))
            self._expect("L")
            lifetime = self._lifetime()
            return f"dyn {traits}{' + ' + lifetime if lifetime else ''}"
        if tag == "B":
            return self._again(self.type)
        self.at -= 1
        return self.path()

    def _function(self) -> str:
        unsafe = "unsafe " if self._takes("U") else ""
        abi = ""
        if self._takes("K"):
            abi = 'extern "C" ' if self._takes("C") else f'extern "{self._identifier().replace("_", "-")}" '
        given = ", ".join(self._until_end(self.type))
        result = self.type()
        return f"{unsafe}{abi}fn({given})" + (f" -> {result}" if result != "()" else "")

    def _dyn_trait(self) -> str:
        trait = self.path()
        while self._takes("p"):
            name = self._identifier()
            value = f"{name} = {self.type()}"
            trait = f"{trait[:-1]}, {value}>" if trait.endswith(">") else f"{trait}<{value}>"
        return trait

    def _argument(self) -> str:
        if self._takes("L"):
            return self._lifetime() or "'_"
        return self._constant() if self._takes("K") else self.type()

    def _constant(self) -> str:
        if self._takes("B"):
            return self._again(self._constant)
        kind = self._next()
        if kind == "p":
            return "_"
        sign = "-" if self._takes("n") else ""
        end = self.text.index("_", self.at)
        digits, self.at = self.text[self.at : end], end + 1
        value = int(digits or "0", 16)
        if kind == "b":
            return "true" if value else "false"
        if kind == "c":
            return repr(chr(value))
        if kind not in _BASIC:
            raise _NotUnderstood
        return f"{sign}{value}"

    def _within_binder(self, read: Callable[[], str]) -> str:
        count = self._number() + 1 if self._takes("G") else 0
        if count > _DEEPEST:
            raise _NotUnderstood
        self.bound += count
        try:
            names = ", ".join(self._lifetime_name(count - i) for i in range(count))
            return (f"for<{names}> " if count else "") + read()
        finally:
            self.bound -= count

    def _lifetime(self) -> str:
        index = self._number()
        return self._lifetime_name(index) if index else ""

    def _lifetime_name(self, index: int) -> str:
        depth = self.bound - index
        return f"'{chr(97 + depth)}" if 0 <= depth < 26 else f"'_{max(depth, 0)}"

    def _impl_path(self) -> None:
        self._disambiguator()
        self.path()

    def _identifier(self) -> str:
        puny = self._takes("u")
        start = self.at
        self.at += 1
        while self.text[start] != "0" and self.text[self.at].isdigit():  # "00" are two names of no length
            self.at += 1
        size = int(self.text[start : self.at])
        self._takes("_")
        found = self.text[self.at : self.at + size]
        if len(found) != size:
            raise _NotUnderstood
        self.at += size
        if not puny:
            return found
        plain, _, coded = found.rpartition("_")  # punycode with "_" for "-"
        return f"{plain}-{coded}".lstrip("-").encode().decode("punycode")

    def _disambiguator(self) -> int:
        return self._number() + 1 if self._takes("s") else 0

    def _number(self) -> int:
        """Base 62, ended by an underscore; nothing before it is 0."""
        end = self.text.index("_", self.at)
        digits, self.at = self.text[self.at : end], end + 1
        value = 0
        for digit in digits:
            value = value * 62 + _DIGITS.index(digit)
        return value + 1 if digits else 0

    def _again(self, read: Callable[[], str]) -> str:
        """What stands further in front, once more."""
        start = self.at - 1
        to = self._number()
        if to >= start:
            raise _NotUnderstood
        back, self.at = self.at, to
        found = read()
        self.at = back
        return found

    def _until_end(self, read: Callable[[], str]) -> list[str]:
        found = []
        while not self._takes("E"):
            found.append(read())
        return found

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotUnderstood

    def _spent(self, text: str) -> str:
        self.written += len(text)
        if len(text) > _LONGEST or self.written > 100 * _LONGEST:
            raise _NotUnderstood
        return text

    def _takes(self, letter: str) -> bool:
        if self.text[self.at : self.at + 1] != letter:
            return False
        self.at += 1
        return True

    def _expect(self, letter: str) -> None:
        if not self._takes(letter):
            raise _NotUnderstood

    def _next(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

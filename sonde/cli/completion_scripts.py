"""Completion scripts for bash, zsh and fish, made from the commands' own parsers.

Enters: each command with its line and its options, and the names of the views. Leaves: the text of a script, which asks
Sonde nothing while the user types. Files are completed where no option fits.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """What can be typed of one command."""

    command: str
    line: str
    options: list[tuple[str, str]]


def bash(commands: Sequence[Words], views: Sequence[str]) -> str:
    cases = "\n".join(
        f"    {c.command}) words={shlex.quote(' '.join(name for name, _ in c.options))} ;;" for c in commands
    )
    return f"""_sonde() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {shlex.quote(" ".join(c.command for c in commands))} -- "$current"))
    return
  fi
  case $command in
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *)
      COMPREPLY=($(compgen -f -- "$current"))
      if [ "$command" = show ] && [ "$COMP_CWORD" -ge 3 ]; then
        COMPREPLY=($(compgen -W {shlex.quote(" ".join(views))} -- "$current"))
      fi ;;
  esac
}}
complete -o filenames -F _sonde sonde
"""


def zsh(commands: Sequence[Words], views: Sequence[str]) -> str:
    names = "\n".join(f"    {shlex.quote(f'{c.command}:{c.line}')}" for c in commands)
    cases = "\n".join(
        f"    {c.command}) options=({' '.join(shlex.quote(f'{_colons(n)}:{h}') for n, h in c.options)}) ;;"
        for c in commands
    )
    return f"""#compdef sonde
_sonde() {{
  local -a commands options views
  commands=(
{names}
  )
  views=({" ".join(views)})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe option options
  elif [[ $words[2] == show ]] && (( CURRENT >= 4 )); then
    compadd -a views
  else
    _files
  fi
}}
compdef _sonde sonde
"""


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def fish(commands: Sequence[Words], views: Sequence[str]) -> str:
    lines = ["complete -c sonde -n __fish_use_subcommand -f"]
    for c in commands:
        lines.append(f"complete -c sonde -n __fish_use_subcommand -a {c.command} -d {shlex.quote(c.line)}")
        seen = f"-n '__fish_seen_subcommand_from {c.command}'"
        lines += [
            f"complete -c sonde {seen} -l {name.removeprefix('--')} -d {shlex.quote(text)}"
            for name, text in c.options
        ]
    lines.append(f"complete -c sonde -n '__fish_seen_subcommand_from show' -a {shlex.quote(' '.join(views))}")
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Sequence[Words], Sequence[str]], str]] = {"bash": bash, "fish": fish, "zsh": zsh}

"""`sonde completions`: a script that makes the shell complete Sonde's commands, options and views."""

from __future__ import annotations

import argparse

from sonde.cli.completion_scripts import SCRIPTS, Words


class Completions:
    """Print a completion script for a shell.

    bash    eval "$(sonde completions bash)"        in ~/.bashrc
    zsh     eval "$(sonde completions zsh)"         in ~/.zshrc, after compinit
    fish    sonde completions fish | source         in ~/.config/fish/config.fish
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", choices=sorted(SCRIPTS), metavar="SHELL", help="bash, zsh or fish")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.cli.main import COMMANDS, load
        from sonde.views import VIEWS

        words = [Words(name, line, _options(load(name)[1])) for name, (_, _, line) in COMMANDS.items()]
        print(SCRIPTS[options.shell](words, list(VIEWS)), end="")
        return 0


def _options(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """The long options of a command, with the first line of their help."""
    return [
        (name, (action.help or "").partition("\n")[0])
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--") and action.help is not argparse.SUPPRESS
    ]

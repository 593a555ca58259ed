"""The `sentinel` command: which words there are, and what an error looks like.

Each word's module is imported when the word is used, so that `sentinel rules validate` pays for no Redis client and no
Slack. Exit codes: 0 fine, 1 findings, 2 usage or unreadable input; 78 bad configuration, 75 Redis unreachable.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from sentinel.cli.output import clean, text_of_problem
from sentinel.errors import BusUnavailable, ConfigError, InputError, Problem, RuleError, SentinelError, UsageError
from sentinel.suggestion import closest

EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 75
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("sentinel.cli.run:run", "Watch runs and tell people what goes wrong."),
    "demo": ("sentinel.cli.demo:demo", "See a real run fail and the alert it raises, in half a minute."),
    "replay": ("sentinel.cli.replay:replay", "Play recorded runs through the rules."),
    "explain": (
        "sentinel.cli.explain:explain",
        "Say why a rule fires or is quiet for a run, and what would change it.",
    ),
    "alerts": ("sentinel.cli.alerts:alerts", "List open incidents and what was told of them."),
    "publish": ("sentinel.cli.publish:publish", "Send one event from a shell."),
    "rules": ("sentinel.cli.rules:rules", "Validate, test, compare, list and explain rules."),
    "init": ("sentinel.cli.init:init", "Write a commented configuration file."),
    "metrics": ("sentinel.cli.metrics:metrics", "Look up what a metric is and what trainers call it."),
}
"""Word → where its command is, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is invoked, and not for the help."""

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.lazy:
            hint = closest(args[0], self.lazy) or f"there are: {', '.join(self.lazy)}"
            raise click.UsageError(f"there is no command '{clean(args[0])}'. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        return guarded(lambda: super(LazyGroup, self).invoke(ctx), lambda: ctx.invoked_subcommand)


def guarded(command: Callable[[], Any], word: Callable[[], str | None] = lambda: None) -> Any:
    """Run a command; expected errors become a line on stderr and an exit code, never a traceback.

    `word` gives the subcommand's name, which is known once it has been found.
    """
    try:
        result = command()
        # What is still buffered may meet a closed pipe; better here than while the interpreter ends.
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        raise click.exceptions.Exit(EXIT_PIPE) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    except SentinelError as error:
        for line in _lines(error):
            click.echo(line, err=True)
        raise click.exceptions.Exit(exit_code(error, word())) from None
    return result


def exit_code(error: SentinelError, word: str | None = None) -> int:
    """What the shell is told. `word`: the subcommand's name; bad rules are bad configuration for the daemon."""
    match error:
        case UsageError():
            return EXIT_USAGE
        case ConfigError():
            return EXIT_CONFIG
        case BusUnavailable():
            return EXIT_UNAVAILABLE
        case RuleError():
            return EXIT_CONFIG if word == "run" else EXIT_USAGE
        case _:
            return EXIT_FINDINGS


def _lines(error: SentinelError) -> list[str]:
    problems: list[Problem] = error.problems if isinstance(error, RuleError | ConfigError | InputError) else []
    lines = [text_of_problem(problem) for problem in problems]
    if not isinstance(error, RuleError | InputError):
        lines.append(f"sentinel: {clean(str(error), newlines=True)}")
    return lines


def _silence() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush cannot fail."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - os.devnull is no path to join
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 fine, 1 findings, 2 usage or unreadable input; for run 78 bad configuration, 75 no Redis.",
)
@click.version_option(package_name="rl-sentinel", prog_name="sentinel", message="%(prog)s %(version)s")
def main() -> None:
    """Streaming alerts for LLM RL post-training: what is wrong, since which step, which checkpoint to go back to."""

"""`sentinel rules diff`: what a change of rules changes in the alerts of recorded runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sentinel.cli.output import clean, print_json
from sentinel.errors import UsageError

if TYPE_CHECKING:
    from sentinel.score.index import Labelled


class _Variadic(click.Command):
    """A command whose option `--on` takes all words up to the next option: a shell's `runs/*.jsonl`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_spread(args)))


def _spread(args: Sequence[str]) -> Iterator[str]:
    collecting = False
    for word in args:
        if word.startswith("-") and word != "-":
            collecting = word == "--on" or word.startswith("--on=")
            if word != "--on":
                yield word
        elif collecting:
            yield f"--on={word}"
        else:
            yield word


@click.command("diff", cls=_Variadic)
@click.argument("old")
@click.argument("new")
@click.option("--on", "recordings", multiple=True, metavar="FILES...", help="Recordings, or folders of *.jsonl.")
@click.option(
    "--score",
    type=click.Path(path_type=Path),
    metavar="INDEX",
    help="Also judge both by labelled recordings (docs/score.md); without --on, by all that INDEX names.",
)
@click.option("--framework", help="Whose keys the rows hold (trl, verl...). Default: guessed.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes. Default: as it pays.")
@click.option("--output", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--fail-on-change", is_flag=True, help="Exit 1 if an alert is added, removed or moved.")
def diff(
    old: str,
    new: str,
    recordings: tuple[str, ...],
    score: Path | None,
    framework: str | None,
    jobs: int,
    output: str,
    fail_on_change: bool,
) -> None:
    """Tell which alerts a change of rules adds, removes or moves on recorded runs.

    OLD and NEW are rule files, folders or packs; git:REVISION:PATH is a file or a folder as it was at a revision. OLD
    and NEW stand before --on, which takes every word up to the next option.
    """
    if not recordings and score is None:
        raise click.UsageError("Missing option '--on': name recordings to compare the rules on, --on runs/*.jsonl")
    from sentinel.cli import comparison
    from sentinel.cli.score import chosen_runs
    from sentinel.metrics import default

    dictionary = default()
    if framework is not None and framework not in dictionary.frameworks:
        raise UsageError(f"no framework '{clean(framework)}' is known; there are: {', '.join(dictionary.frameworks)}")
    sources = [comparison.rules_of(old), comparison.rules_of(new)]
    paths = comparison.recordings_of(recordings)
    labelled: list[Labelled] = []
    if score is not None:
        chosen = chosen_runs(score, paths)
        labelled, paths = [run for run, _ in chosen], [path for _, path in chosen]
    found = comparison.compare(sources, paths, labelled, index=score, framework=framework, processes=jobs)
    match output:
        case "json":
            print_json(comparison.json_of_comparison(found))
        case "markdown":
            click.echo(comparison.markdown_of_comparison(found))
        case _:
            click.echo(comparison.text_of_comparison(found))
    if fail_on_change and found.changed:
        raise click.exceptions.Exit(1)

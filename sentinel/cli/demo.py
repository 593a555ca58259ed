"""`sentinel demo`: from nothing to an alert on the screen, in half a minute."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from sentinel.errors import UsageError
from sentinel.service.clock import monotonic
from sentinel.service.demo import RECORDING, RUN, Screen, play

ROW_SECONDS = 0.3


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the Slack page open until Ctrl-C.")
@click.option("--fast", is_flag=True, help="Play without pauses.")
@click.option("--port", default=0, show_default="a free one", help="Port of the page that shows the Slack channel.")
@click.option("--save-page", type=click.Path(path_type=Path), help="Also write the Slack page to this HTML file.")
def demo(keep: bool, fast: bool, port: int, save_page: Path | None) -> None:
    """See a real run fail and the alert it raises. Needs no Redis, no Slack and no GPU.

    Plays 200 steps of a recorded GRPO run into an embedded Valkey; the real daemon watches them and posts to a
    stand-in for Slack, which you can open in a browser.
    """
    console = Console(highlight=False, soft_wrap=True)
    began = monotonic()
    screen = _screen(console)
    console.print(f"[bold]sentinel demo[/]: replaying a real GRPO run ({RECORDING}) as [bold]{RUN}[/]")
    try:
        slack = asyncio.run(play(screen, row_seconds=0.01 if fast else ROW_SECONDS, keep=keep, port=port))
    except KeyboardInterrupt:
        return
    if save_page is not None:
        try:
            save_page.write_text(slack.export("rl-alerts"), "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {save_page}: {error.strerror}") from error
        console.print(f"The Slack page was written to {save_page}")
    messages = len(slack.channel("rl-alerts"))
    word = _command()
    hints = {
        f"{word} demo --keep": "the same, and the Slack page stays open",
        f"{word} replay YOUR_RUN.jsonl": "would it have fired on a run of yours?",
        f"{word} run": "watch live runs; `from sentinel import Publisher` in the trainer",
    }
    width = max(map(len, hints))
    console.print(
        f"\n[bold]That was it[/]: {monotonic() - began:.0f} s, {messages} Slack message, edited in place.\n"
        "What to do next:\n" + "\n".join(f"  {command:<{width}}   {hint}" for command, hint in hints.items())
    )


def _command() -> str:
    """How this person calls us: by name when that is on the PATH, else by the file (`.venv/bin/sentinel`)."""
    if shutil.which("sentinel") is not None:
        return "sentinel"
    file = Path(sys.argv[0])
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else str(file)


def _screen(console: Console) -> Screen:
    def page(url: str) -> None:
        console.print(f"Slack channel: [link={url}]{url}[/link]\n")

    def step(number: int, values: dict[str, float]) -> None:
        reward = values.get("reward", 0.0)
        bar = "█" * round(20 * max(0.0, min(reward, 1.0)))
        console.print(
            f"  step {number:>4}  reward {reward:5.2f} {bar:<20}  "
            f"length {values.get('completions/mean_length', 0.0):4.0f}  entropy {values.get('entropy', 0.0):.3f}",
            style="dim",
        )

    def checkpoint(number: int, path: str) -> None:
        console.print(f"  step {number:>4}  saved {path}", style="dim")

    def said(line: str) -> None:
        text = Text(f"  ┃ {line}")
        if "CRITICAL" in line:
            text.stylize("bold red")
        elif "WARNING" in line:
            text.stylize("bold yellow")
        elif "→" in line:
            text.stylize("bold")
        console.print(text)

    return Screen(page, step, checkpoint, said)

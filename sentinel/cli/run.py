"""`sentinel run`: the daemon."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from sentinel.service.app import Daemon, serve
from sentinel.service.logs import configure
from sentinel.service.settings import load_settings


@click.command("run")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration file; `sentinel init` writes one.")
@click.option("--pretty-logs", is_flag=True, help="Colored log lines for a terminal instead of JSON.")
def run(config: Path | None, pretty_logs: bool) -> None:
    """Watch runs and tell people what goes wrong. Works with nothing configured.

    Logs go to stderr as JSON. Exit codes: 0 after SIGTERM, 78 for a bad configuration or bad rules, 75 when Redis
    cannot be reached.
    """
    settings, warnings = load_settings(config)
    configure(settings.log_level, pretty=pretty_logs)
    for warning in warnings:
        click.echo(f"sentinel: warning: {warning}", err=True)
    asyncio.run(serve(settings, out=sys.stdout, ready=_greet))


async def _greet(daemon: Daemon) -> None:
    """Say where trainers publish to, without the password that a URL may hold."""
    if daemon.settings.redis.url is not None:
        return
    url = daemon.tcp_url or daemon.url
    click.echo(f"sentinel is watching. In the trainer:\n\n    from sentinel import Publisher\n"
               f'    with Publisher("{url}", run="my-run") as publisher:\n        publisher.step(1, {{"kl": 0.03}})\n\n'
               f"or from a shell:\n\n    sentinel publish --url {url} --run my-run --step 1 kl=0.03\n")  # fmt: skip
    sys.stdout.flush()

"""`sentinel alerts`: the open incidents of a live daemon, and what each receiver was told."""

from __future__ import annotations

import asyncio

import click

from sentinel import wire
from sentinel.cli.output import clean, counted
from sentinel.cli.width import paragraph


@click.command("alerts")
@click.argument("run", required=False)
@click.option("--url", help="Of Redis. Default: SENTINEL_URL, else the embedded one.")
def alerts(run: str | None, url: str | None) -> None:
    """Open incidents (of RUN), and what each receiver was told. Nothing is written."""
    from sentinel.service.standing import open_rows

    rows, unreadable = asyncio.run(open_rows(url or wire.default_url()))
    rows = [row for row in rows if run is None or row.notification.run == run]
    seen: set[str] = set()
    for row in sorted(rows, key=lambda row: (row.notification.run, row.key)):
        note = row.notification
        if note.incident not in seen:
            seen.add(note.incident)
            click.echo(paragraph(clean(f"{note.severity} {note.run}: {note.headline} (since step {note.onset_step})")))
        told = row.told
        if told.intent is not None:
            said = f"in doubt ({told.intent})"
        elif told.covers(note):
            said = "told"
        else:
            said = "waiting in the outbox"
        refused = f", refused {counted(told.failures, 'time')}" if told.failures else ""
        click.echo(paragraph(clean(f"  {row.receiver}: {said}{refused}"), "    "))
    if not rows:
        click.echo("no open incident is recorded in the outbox; this does not show that a daemon is running")
    if unreadable:
        click.echo(f"note: {counted(unreadable, 'row')} could not be read")

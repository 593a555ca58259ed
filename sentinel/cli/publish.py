"""`sentinel publish`: one event from a shell."""

from __future__ import annotations

import click

from sentinel import wire
from sentinel.decode import decode
from sentinel.errors import DecodeError
from sentinel.events import EVENT_TYPES

EXIT_UNAVAILABLE = 75


@click.command()
@click.argument("metrics", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--run", envvar="SENTINEL_RUN", help="The run's id (or SENTINEL_RUN).")
@click.option("--step", help="The training step.")
@click.option("--type", "kind", type=click.Choice(EVENT_TYPES), default="step", show_default=True)
@click.option("--path", help="Of a checkpoint.")
@click.option("--state", help="Of a checkpoint: saved, deleted or pinned; of a control_ack.")
@click.option("--name", help="Of a phase.")
@click.option("--status", help="Of run_finished: ok, failed or stopped.")
@click.option("--reason", help="Of run_finished or control_ack.")
@click.option("--request", help="Of a control_ack: the request it answers.")
@click.option("--framework", help="Of run_started: trl, verl, ...")
@click.option("--framework-version", "version", help="Of run_started.")
@click.option("--attempt", help="Of run_started.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Of run_started or sample; repeatable.")
@click.option("--json", "document", help="The whole event as JSON, instead of the options above.")
@click.option(
    "--url",
    default=wire.default_url,
    show_default="SENTINEL_URL, else this user's embedded Valkey, else redis://127.0.0.1:6379/0",
    help="Of Redis.",
)
def publish(
    metrics: tuple[str, ...],
    kind: str,
    labels: tuple[str, ...],
    document: str | None,
    url: str,
    **fields: str | None,
) -> None:
    """Publish one event and print the id of its stream entry.

    \b
    sentinel publish --run grpo-7b --step 120 kl=0.04 reward=0.61
    sentinel publish --run grpo-7b --type checkpoint --step 100 --path out/checkpoint-100
    sentinel publish --json '{"type":"heartbeat","run":"grpo-7b"}'

    The event is checked before it is sent. Exit codes: 0 sent, 2 the event or the command is wrong, 75 Redis cannot
    be reached or refuses.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if document is not None:
        # --run may come from the environment, and an event of its own need not heed it.
        if metrics or labels or given.keys() - {"run"} or kind != "step":
            raise click.UsageError("--json is the whole event; leave the other options and NAME=VALUE out")
        raw = document.encode("utf-8", "surrogateescape")
    else:
        if metrics and kind not in ("step", "sample"):
            raise click.UsageError(f"an event of type '{kind}' has no metrics; remove {metrics[0]}")
        event: dict[str, object] = {"type": kind, **given}
        if "step" in given:
            event["step"] = _number(given["step"])
        if labels:
            event["labels"] = dict(_pair(label, "--label") for label in labels)
        if kind in ("step", "sample"):
            pairs = [_pair(metric, "a metric") for metric in metrics]
            event["metrics"] = {name: _number(value) for name, value in pairs}
        raw = wire.encode(event)
    run = _checked(raw)
    click.echo(_send(url, run, raw))


def _pair(text: str, what: str) -> tuple[str, str]:
    # The last "=": names such as `gpu.util{gpu=3}` hold one themselves.
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise click.UsageError(f"{what} is written NAME=VALUE, not '{text}'")
    return name, value


def _number(text: str) -> object:
    """The number that the text spells; text that spells none stays, and the check will say what is wrong with it."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    try:
        return wire.number_of_text(text)
    except ValueError:
        return text


def _checked(raw: bytes) -> str:
    """The run of an event that the daemon will understand in full. Raises click.UsageError otherwise."""
    try:
        decoded = decode({wire.EVENT_FIELD.encode(): raw}, position="", time=None)
    except DecodeError as error:
        raise click.UsageError(f"{error} ({error.reason})") from error
    if decoded.dropped:
        raise click.UsageError("; ".join(f"metric '{key}': {reason}" for key, reason in decoded.dropped))
    return decoded.event.run


def _send(url: str, run: str, raw: bytes) -> str:
    # Imported here: `sentinel --help` and the checks above need no Redis client.
    from sentinel.connection import CONNECTION_ERRORS, explain
    from sentinel.publisher import open_client

    try:
        client = open_client(url)
    except ValueError as error:
        raise click.UsageError(f"--url: {error}") from None
    try:
        with client:
            text = client.get(wire.PARTITIONS_KEY)
            partitions = int(text) if text is not None and text.isdigit() else 1
            key = wire.events_key(wire.partition_of(run, max(1, partitions)))
            entry_id: bytes = client.xadd(key, {wire.EVENT_FIELD: raw})
    except CONNECTION_ERRORS as error:
        click.echo(f"sentinel publish: {explain(error)}", err=True)
        raise SystemExit(EXIT_UNAVAILABLE) from error
    return entry_id.decode()

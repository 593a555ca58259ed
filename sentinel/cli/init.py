"""`sentinel init`: a commented configuration to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from sentinel.errors import UsageError

TEMPLATE = """\
# Configuration of sentinel. Everything here is optional; what is commented out shows the default.
# Each key has an environment variable that wins over it: redis.url is SENTINEL_REDIS_URL.

# redis:
#   url: redis://127.0.0.1:6379/0   # without it, an embedded Valkey is started (pip install 'rl-sentinel[embedded]')
#   start_timeout: 60               # seconds to wait for Redis at the start, before exit 75

# embedded:
#   tcp_port: 6390                  # let trainers on this machine join over TCP; always: the unix socket

rules:
  - grpo                            # the policy; these three are the shipped default
  - ppo                             # the critic: says nothing of runs without one
  - infra                           # steps, GPUs, queues, verifier
  # - strict                        # tighter limits for the first hundred steps
  # - my-rules                      # a rule file, or a folder of them; instead of all: classic

# references: []                    # recorded runs (JSONL) for reference(x); a run's label `reference` names one

# slack:
#   channel: "#rl-alerts"           # the app must be a member; its bot token needs the scope chat:write
#   token_file: /etc/sentinel/slack-token   # or $CREDENTIALS_DIRECTORY/slack-token, or SENTINEL_SLACK_TOKEN

# console: true                     # tell alerts on stdout too; default: only when Slack is not set up
# notify_from: warning              # info, warning or critical

# http:                             # /healthz, /readyz, /metrics
#   enabled: true
#   host: 127.0.0.1
#   port: 9464

# state_dir: ~/.local/state/sentinel   # data of the embedded Valkey
# snapshot_seconds: 60
# keep_entries: 2000000             # entries kept in the event stream; older ones are trimmed
# max_state_mib: 8                  # what the rules may keep of each run, in MiB
# log_level: info
"""


@click.command("init")
@click.argument("path", default="sentinel.yaml", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(path: Path, force: bool) -> None:
    """Write a commented configuration to PATH (sentinel.yaml)."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise UsageError(f"{path} is there already; --force overwrites it") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"wrote {path}. Next: sentinel run --config {path}")

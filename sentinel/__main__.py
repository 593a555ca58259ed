"""`python -m sentinel`: the same as the `sentinel` command."""

from __future__ import annotations

from sentinel.cli.main import main

if __name__ == "__main__":
    main(prog_name="sentinel")

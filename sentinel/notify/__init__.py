"""Telling people: the desired state of each incident is compared with what a receiver was told, and the rest is sent.

    outbox row → next_action → intent recorded → token → notifier → confirmation recorded

A channel is a folder with the same two files: pure rendering, and a sender that does the only IO. To add one, copy
`console/`.
"""

from sentinel.notify.pipeline import Pipeline, Sender

__all__ = ["Pipeline", "Sender"]

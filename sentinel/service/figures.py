"""The daemon's own metrics, for Prometheus at /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Figures:
    """Counters and gauges of one daemon, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.events = Counter("sentinel_events", "Entries that were read and understood.", registry=registry)
        self.rejected = Counter(
            "sentinel_rejected_entries", "Entries that could not be understood.", ["reason"], registry=registry
        )
        self.dropped_metrics = Counter(
            "sentinel_dropped_metrics", "Single metrics left out of an event.", registry=registry
        )
        self.transitions = Counter(
            "sentinel_transitions", "Alert transitions.", ["state", "severity"], registry=registry
        )
        self.commits = Counter("sentinel_commits", "Transactions committed to Redis.", registry=registry)
        self.commit_failures = Counter(
            "sentinel_commit_failures", "Transactions that Redis refused.", registry=registry
        )
        self.commit_seconds = Histogram(
            "sentinel_commit_seconds",
            "Duration of a commit.",
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5),
            registry=registry,
        )
        self.snapshot_bytes = Gauge("sentinel_snapshot_bytes", "Size of the newest snapshot.", registry=registry)
        self.snapshots = Counter("sentinel_snapshots", "Snapshots saved.", registry=registry)
        self.snapshot_failures = Counter("sentinel_snapshot_failures", "Snapshots that failed.", registry=registry)
        self.notices = Counter("sentinel_notices", "What was noticed beside alerts.", ["kind"], registry=registry)
        self.read_failures = Counter("sentinel_read_failures", "Reads of the stream that failed.", registry=registry)
        self.gaps = Counter(
            "sentinel_stream_gaps", "Times entries were trimmed before they were read.", registry=registry
        )
        self.runs = Gauge("sentinel_runs", "Runs that are remembered.", registry=registry)
        self.alerts = Gauge("sentinel_alerts", "Alerts that are firing.", registry=registry)
        self.lag_seconds = Gauge(
            "sentinel_lag_seconds", "Age of the newest entry when it was taken into account.", registry=registry
        )
        self.reload_successful = Gauge(
            "sentinel_config_last_reload_successful", "1 if the rules in force are the ones on disk.", registry=registry
        )
        self.reload_successful.set(1)
        self.notifications = Gauge(
            "sentinel_notifications_total", "Sends by receiver and outcome.", ["receiver", "outcome"], registry=registry
        )

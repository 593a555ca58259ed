# docker build -t sentinel . && docker run --rm --network host sentinel
#
# With nothing configured it runs its embedded Valkey, the default rules and the console notifier. What it serves
# it serves on loopback, hence the host's network; with a Redis elsewhere it needs none of that:
# docker run -v ./sentinel.yaml:/etc/sentinel/sentinel.yaml:ro sentinel run --config /etc/sentinel/sentinel.yaml

FROM ghcr.io/astral-sh/uv:0.9 AS uv


# Both stages start from one image: the environment made here names that image's Python by its path.
FROM python:3.13-slim-bookworm AS build
COPY --from=uv /uv /usr/local/bin/uv
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /src

# The dependencies first: they change less often than the code, and this layer is then reused.
COPY pyproject.toml ./
RUN uv venv --python /usr/local/bin/python3.13 /opt/sentinel \
    && uv pip install --no-cache --python /opt/sentinel/bin/python --requirement pyproject.toml --extra embedded

COPY README.md LICENSE ./
COPY rules ./rules
COPY sentinel ./sentinel
RUN uv pip install --no-cache --no-deps --python /opt/sentinel/bin/python .


FROM python:3.13-slim-bookworm

# Numbers, not names: Kubernetes' runAsNonRoot can check a number.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/sentinel
COPY --from=build /opt/sentinel /opt/sentinel

# The daemon's state folder is $XDG_STATE_HOME/sentinel.
ENV PATH=/opt/sentinel/bin:$PATH \
    HOME=/var/lib/sentinel \
    XDG_STATE_HOME=/var/lib \
    PYTHONFAULTHANDLER=1 \
    PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /var/lib/sentinel
VOLUME ["/var/lib/sentinel"]
EXPOSE 9464

# /healthz does not depend on Redis or Slack: a restart would mend neither.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=4)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["sentinel"]
CMD ["run"]

# mcp-shell-server in a container: the container is the security boundary, and only a short list of commands may run.
#
#   docker build -t mcp-shell-server .
#   docker run --rm -i -v "$(pwd):/workspace" mcp-shell-server
#
# Settings and hardening are in docs/guides/container.md, and compose.yaml has them all.
ARG BASE=node:24.21.0-bookworm-slim

# The package as npm publishes it, installed as npm installs it. To use another registry, pass its settings as
# a secret (--secret id=npmrc,src=$HOME/.npmrc), which ends in no layer.
FROM ${BASE} AS package
# For the process that forks for the server.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /src
COPY . .
RUN --mount=type=secret,id=npmrc \
    export NPM_CONFIG_USERCONFIG=/run/secrets/npmrc \
 && npm pack --pack-destination /tmp \
 && npm install --prefix /app --omit=dev --ignore-scripts --no-audit --no-fund /tmp/mcp-shell-server-*.tgz

FROM ${BASE}
# bubblewrap and socat are for the full sandbox, for which the container has to be opened a little (docs/guides/container.md).
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini git bubblewrap socat procps ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && { getent passwd node > /dev/null || useradd --uid 1000 --create-home --shell /bin/bash node; } \
 && install -d --owner=node --group=node /workspace \
# A mounted workspace may belong to another uid, and git would refuse it.
 && git config --system --add safe.directory /workspace \
# Another user (--user "$(id -u):$(id -g)") has a home and a place for its state as well.
 && install -d --mode=1777 /home/node /var/lib/mcp-shell-server
COPY --from=package /app /app
COPY packaging/container/healthcheck.mjs /app/healthcheck.mjs
RUN ln -s /app/node_modules/.bin/mcp-shell-server /usr/local/bin/mcp-shell-server

# Variables rather than a settings file: they hold wherever HOME is, and whatever --config names.
ENV HOME=/home/node \
    NODE_ENV=production \
    MCP_SHELL_SECURITY_PRESET=minimal \
    MCP_SHELL_SECURITY_SANDBOX=container \
    MCP_SHELL_DEFAULT_WORKDIR=/workspace \
    MCP_SHELL_HTTP_METRICS_PORT=3738 \
    MCP_SHELL_STATE_DIR=/var/lib/mcp-shell-server/state
USER node
WORKDIR /workspace
# Writable where the root is not, and gone with the container (--rm) unless it has a name.
VOLUME /var/lib/mcp-shell-server
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["node", "/app/healthcheck.mjs"]
LABEL org.opencontainers.image.title="mcp-shell-server" \
      org.opencontainers.image.description="A shell for AI agents over MCP" \
      org.opencontainers.image.source="https://github.com/mcp-shell-server/mcp-shell-server" \
      org.opencontainers.image.documentation="https://github.com/mcp-shell-server/mcp-shell-server/blob/main/docs/guides/container.md" \
      org.opencontainers.image.licenses="MIT" \
      io.modelcontextprotocol.server.name="io.github.mcp-shell-server/mcp-shell-server"
# As the first process Node would neither reap what commands leave behind nor end by TERM.
ENTRYPOINT ["tini", "--", "mcp-shell-server"]

# The stage that downloads packages may run on another image, such as one that trusts the certificate of a proxy.
ARG BUILD_IMAGE=denoland/deno:2.9.6
FROM ${BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json deno.json deno.lock ./
COPY src/packages.ts src/packages.ts
RUN deno install --prod --frozen --entrypoint src/packages.ts
COPY src src
COPY schema schema
COPY examples examples
COPY docs docs
COPY README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
# Compiled once here, and the libraries of the bundled PostgreSQL linked, so that the container starts without writing anything.
RUN deno eval 'import { Effect } from "effect"; import { find } from "./src/store/bundled/Programs.ts"; await Effect.runPromise(find({ forAnotherUser: false, installations: "/nowhere" }))' \
  && deno cache --frozen src/main.ts $(find src -name '*.worker.ts' -o -name '*.process.ts') \
  # The packages are in node_modules; the cache that they came from is not read again.
  && rm -rf /deno-dir/npm/*

FROM denoland/deno:2.9.6
LABEL org.opencontainers.image.title="Parlance" org.opencontainers.image.description="Personalized content: selects, renders and learns"
# With STORE=external a container that was given no DATABASE_URL says so and ends, in place of keeping its data in a volume.
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data STORE=external DENO_NO_UPDATE_CHECK=1
WORKDIR /app
COPY --from=build /deno-dir /deno-dir
COPY --from=build /app /app
RUN mkdir -m 700 /data && chown deno /data
USER deno
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["deno", "eval", "Deno.exit((await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/healthz`)).ok ? 0 : 1)"]
STOPSIGNAL SIGTERM
# SMTP greets with the name of the host. Deno itself is run once more for the processes that check Liquid
# and compose e-mails, which get no permissions. The shell runs the bundled PostgreSQL, with STORE=embedded; with DATABASE_URL the
# service gives that permission up as it starts. Files that settings name are read from /run/secrets.
ENTRYPOINT ["deno", "run", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "--allow-net", "--allow-env", "--allow-sys=hostname,networkInterfaces,uid", "--allow-read=/app,/data,/run/secrets", "--allow-write=/data", "--allow-run=deno,/bin/sh", "src/main.ts"]
CMD ["serve"]

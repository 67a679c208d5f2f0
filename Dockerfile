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
  && rm -rf /deno-dir/npm/* \
  # Neither are their declarations, source maps and sources, a quarter of their size.
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete \
  && rm -rf node_modules/.deno/*effect*/node_modules/effect/src node_modules/.deno/*effect*/node_modules/@effect/*/src

FROM denoland/deno:2.9.6
LABEL org.opencontainers.image.title="Parlance" org.opencontainers.image.version="0.2.0" org.opencontainers.image.description="Personalized content: selects, renders and learns"
# With STORE=external a container that was given no DATABASE_URL says so and ends, in place of keeping its data in a volume.
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data STORE=external DENO_NO_UPDATE_CHECK=1
WORKDIR /app
COPY --from=build /deno-dir /deno-dir
COPY --from=build /app /app
COPY deploy/image /usr/local/bin
RUN mkdir -m 700 /data && chown deno /data
USER deno
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["healthcheck"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["parlance"]
CMD ["serve"]

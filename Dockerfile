ARG SWIFT_VERSION=6.3

FROM swift:${SWIFT_VERSION}-bookworm AS build
WORKDIR /src
COPY scripts/install-packages scripts/
RUN scripts/install-packages build && rm -rf /var/lib/apt/lists/*
# Dependencies have a separate layer, so that a change in Sources does not fetch them again.
COPY Package.swift ./
RUN swift package resolve
COPY . .
# Swift's libraries are shipped beside the programs: linked into each program, they would take 240 MB instead of 134.
# The executables alone: without swift-crypto, which only devices use.
RUN swift build -c release --target Programs && scripts/collect-programs .build/release /out

# `--build-context build=FOLDER` replaces the stage above with prebuilt programs: scripts/collect-programs creates
# FOLDER/out.
FROM debian:bookworm-slim AS programs
WORKDIR /srv/fanmill
COPY scripts/install-packages scripts/
RUN scripts/install-packages run && rm -rf /var/lib/apt/lists/* scripts \
  && useradd --system --no-create-home --shell /usr/sbin/nologin --uid 10001 fanmill
COPY --from=build /out/ /usr/local/
COPY deploy/healthcheck /usr/local/bin/fanmill-healthcheck
COPY migrations /usr/local/share/fanmill/migrations
# A volume mounted here starts with this owner.
RUN ldconfig && install -d -o 10001 -g 10001 -m 0750 /var/lib/fanmill/media
USER 10001
EXPOSE 8080
# A worker is the same image with the command `fanmill-worker`, the CLI with `fanmill`.
CMD ["fanmill-api"]

# For workers that process pictures: no other image contains decoders for untrusted uploads.
FROM programs AS pictures
USER 0
COPY scripts/install-packages scripts/
RUN scripts/install-packages pictures && rm -rf /var/lib/apt/lists/* scripts
USER 10001
CMD ["fanmill-worker"]

# The default stage.
FROM programs

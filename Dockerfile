ARG SWIFT_VERSION=6.3

FROM swift:${SWIFT_VERSION}-bookworm AS build
WORKDIR /src
COPY scripts/install-packages scripts/
RUN scripts/install-packages build && rm -rf /var/lib/apt/lists/*
# The dependencies have a layer of their own, so that a change in Sources does not fetch them again.
COPY Package.swift ./
RUN swift package resolve
COPY . .
RUN swift build -c release --static-swift-stdlib \
  && mkdir /out \
  && for program in fanmill fanmill-api fanmill-worker; do \
       strip -o "/out/${program}" "$(swift build -c release --show-bin-path)/${program}" || exit 1; \
     done

FROM debian:bookworm-slim
WORKDIR /srv/fanmill
COPY scripts/install-packages scripts/
RUN scripts/install-packages run && rm -rf /var/lib/apt/lists/* scripts \
  && useradd --system --no-create-home --shell /usr/sbin/nologin --uid 10001 fanmill
COPY --from=build /out/ /usr/local/bin/
COPY deploy/healthcheck /usr/local/bin/fanmill-healthcheck
COPY migrations /usr/local/share/fanmill/migrations
USER 10001
EXPOSE 8080
# A worker is the same image with the command `fanmill-worker`, the CLI with `fanmill`.
CMD ["fanmill-api"]

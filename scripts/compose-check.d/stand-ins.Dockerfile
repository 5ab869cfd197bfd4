# Images with the official names, for machines that cannot pull any: Debian's packages, with the behaviour of the
# official images that docker-compose.yml relies on.
FROM docker.io/library/debian:bookworm-slim AS packages
RUN apt-get update -q \
  && apt-get install -q -y --no-install-recommends postgresql redis-server \
  && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15
COPY postgres-entrypoint redis-entrypoint /usr/local/bin/

FROM packages AS postgres
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data
RUN install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data \
  && install -d -o postgres -g postgres -m 3777 /run/postgresql
VOLUME /var/lib/postgresql/data
ENTRYPOINT ["postgres-entrypoint"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]

FROM packages AS redis
WORKDIR /data
RUN chown redis:redis /data
VOLUME /data
ENTRYPOINT ["redis-entrypoint"]
EXPOSE 6379
CMD ["redis-server"]

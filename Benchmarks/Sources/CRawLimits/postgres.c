#include "CRawLimits.h"

#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static PGconn *open_postgres(const char *conninfo, char *error, size_t size) {
  PGconn *connection = PQconnectdb(conninfo);
  if (PQstatus(connection) == CONNECTION_OK) return connection;
  snprintf(error, size, "%s", PQerrorMessage(connection));
  PQfinish(connection);
  return NULL;
}

static char *put16(char *at, uint16_t value) {
  value = htobe16(value);
  memcpy(at, &value, 2);
  return at + 2;
}

static char *put32(char *at, uint32_t value) {
  value = htobe32(value);
  memcpy(at, &value, 4);
  return at + 4;
}

static char *put64(char *at, int64_t value) {
  uint64_t big = htobe64((uint64_t)value);
  memcpy(at, &big, 8);
  return at + 8;
}

// Binary COPY (PostgreSQL's manual, "COPY", "Binary Format"): a signature, flags, the length of an extension; then for
// each row the number of its fields and each field's length and bytes; then -1.
int64_t raw_copy(
  const char *conninfo, const char *table, int64_t first, int64_t step, int64_t count, int64_t post, double *seconds,
  char *error, size_t error_size) {
  PGconn *connection = open_postgres(conninfo, error, error_size);
  if (!connection) return -1;
  int64_t result = -1;
  char sql[200];
  snprintf(sql, sizeof sql, "COPY %s (user_id, post_id) FROM STDIN (FORMAT binary)", table);
  enum { row_size = 26, rows_a_piece = 2500 };
  char *piece = malloc(row_size * rows_a_piece + 32);
  double start = monotonic();
  PGresult *reply = PQexec(connection, sql);
  if (PQresultStatus(reply) != PGRES_COPY_IN) goto failed;
  PQclear(reply);
  reply = NULL;
  char *at = piece;
  memcpy(at, "PGCOPY\n\377\r\n\0", 11);
  at = put32(put32(at + 11, 0), 0);
  for (int64_t row = 0; row < count;) {
    for (int space = rows_a_piece; space > 0 && row < count; space--, row++) {
      at = put64(put32(put16(at, 2), 8), first + row * step);
      at = put64(put32(at, 8), post);
    }
    if (PQputCopyData(connection, piece, (int)(at - piece)) != 1) goto failed;
    at = piece;
  }
  at = put16(at, 0xFFFF);
  if (PQputCopyData(connection, piece, (int)(at - piece)) != 1 || PQputCopyEnd(connection, NULL) != 1) goto failed;
  reply = PQgetResult(connection);
  if (PQresultStatus(reply) != PGRES_COMMAND_OK) goto failed;
  *seconds = monotonic() - start;
  result = atoll(PQcmdTuples(reply));
  goto out;
failed:
  snprintf(error, error_size, "%s", PQerrorMessage(connection));
out:
  PQclear(reply);
  PQfinish(connection);
  free(piece);
  return result;
}

typedef struct {
  const char *conninfo, *sql;
  int64_t count, batch;
  atomic_llong *written;  // rows that may be taken out
  int takes_out;
  int64_t done;
  atomic_int *failed;
  char error[256];
} ledger_side;

static void *run_side(void *argument) {
  ledger_side *side = argument;
  side->done = 0;
  PGconn *connection = open_postgres(side->conninfo, side->error, sizeof side->error);
  if (!connection) goto failed;
  PGresult *reply = PQprepare(connection, "side", side->sql, 0, NULL);
  if (PQresultStatus(reply) != PGRES_COMMAND_OK) goto refused;
  PQclear(reply);
  for (int64_t at = 0; at < side->count; at += side->batch) {
    int64_t rows = side->count - at < side->batch ? side->count - at : side->batch;
    while (side->takes_out && atomic_load(side->written) < at + rows) {
      if (atomic_load(side->failed)) goto out;
      struct timespec pause = {0, 100000};
      nanosleep(&pause, NULL);
    }
    char low[24], size[24];
    snprintf(low, sizeof low, "%lld", (long long)at);
    snprintf(size, sizeof size, "%lld", (long long)rows);
    const char *values[] = {low, size};
    reply = PQexecPrepared(connection, "side", 2, values, NULL, NULL, 0);
    if (PQresultStatus(reply) != PGRES_COMMAND_OK) goto refused;
    side->done += atoll(PQcmdTuples(reply));
    PQclear(reply);
    if (!side->takes_out) atomic_store(side->written, at + rows);
  }
out:
  PQfinish(connection);
  return NULL;
refused:
  snprintf(side->error, sizeof side->error, "%s", PQerrorMessage(connection));
  PQclear(reply);
  PQfinish(connection);
failed:
  atomic_store(side->failed, 1);
  return NULL;
}

int64_t raw_ledger(
  const char *conninfo, const char *sql_in, const char *sql_out, int64_t count, int64_t batch, double *seconds,
  char *error, size_t error_size) {
  atomic_llong written = 0;
  atomic_int failed = 0;
  ledger_side sides[2] = {
    {.conninfo = conninfo, .sql = sql_in, .count = count, .batch = batch, .written = &written, .failed = &failed},
    {.conninfo = conninfo, .sql = sql_out, .count = count, .batch = batch, .written = &written, .failed = &failed,
     .takes_out = 1},
  };
  pthread_t thread;
  double start = monotonic();
  if (pthread_create(&thread, NULL, run_side, &sides[1])) {
    snprintf(error, error_size, "no thread");
    return -1;
  }
  run_side(&sides[0]);
  pthread_join(thread, NULL);
  *seconds = monotonic() - start;
  if (failed) {
    snprintf(error, error_size, "%s%s", sides[0].error, sides[1].error);
    return -1;
  }
  return sides[0].done == sides[1].done ? sides[1].done : -1;
}

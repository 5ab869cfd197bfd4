// What the same work costs without Fanmill: plain C over hiredis and libpq, one connection, no event loop.
//
// Each function returns how many it did, or -1 with a text in `error`.

#ifndef FANMILL_RAW_LIMITS_H
#define FANMILL_RAW_LIMITS_H

#include <stddef.h>
#include <stdint.h>

// XADDs `count` entries of `length` bytes, a thousand a pipeline, two pipelines under way.
int64_t raw_add(
  const char *socket, const char *stream, const void *record, size_t length, int64_t count, double *seconds,
  char *error, size_t error_size);

// Reads the stream to its end: XREADGROUP COUNT 100, then XACK and XDEL of these 100 together with the next read.
int64_t raw_drain(
  const char *socket, const char *stream, int64_t count, double *seconds, char *error, size_t error_size);

// COPYs, in binary form and one transaction, the rows (first + n * step, post) for n below `count`, into `table`.
int64_t raw_copy(
  const char *conninfo, const char *table, int64_t first, int64_t step, int64_t count, int64_t post, double *seconds,
  char *error, size_t error_size);

// Writes `count` rows of `sql_in` and takes them out by `sql_out`, each a statement and a transaction for `batch` rows
// ($1 is the first row's number, $2 how many), on two connections, each with a thread of its own.
int64_t raw_ledger(
  const char *conninfo, const char *sql_in, const char *sql_out, int64_t count, int64_t batch, double *seconds,
  char *error, size_t error_size);

// A page of memory that a bench and its worker child share: the child counts and samples there, the bench looks.
typedef struct bench_board bench_board;

// Maps `path`, making it if it is missing; NULL if that fails.
bench_board *bench_board_open(const char *path);
void bench_board_reset(bench_board *board);
// Counts one job that was handled.
void bench_board_count(bench_board *board);
int64_t bench_board_counted(const bench_board *board);
// Keeps one sample, as long as there is room.
void bench_board_sample(bench_board *board, int64_t value);
int64_t bench_board_sample_count(const bench_board *board);
int64_t bench_board_sample_at(const bench_board *board, int64_t index);
// Whether the child is about to serve.
void bench_board_set_ready(bench_board *board);
int bench_board_is_ready(const bench_board *board);

// Sends the requests, each over a connection of its own, and reads what streams back until it is killed: samples how long
// ago each "@nanoseconds@" in it was. Ready once all are answered. Returns only to say what went wrong.
int64_t bench_streams(
  int port, const char *const *requests, int64_t count, bench_board *board, char *error, size_t error_size);

// Sends the requests over connections that stay open, each the next one as soon as its answer is whole, and tells how
// many nanoseconds each took. Returns 0, or -1 where one was not answered with `status`.
int bench_requests(
  int port, int connections, const char *const *requests, int64_t count, int status, int64_t *nanoseconds, char *error,
  size_t error_size);

// Nanoseconds of CLOCK_REALTIME, which all processes of a machine share.
int64_t bench_now(void);

#endif

#define _GNU_SOURCE
#include "CRawLimits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// A stream, and how far it is in an "@nanoseconds@" that may come in pieces.
struct stream {
  int descriptor;
  int is_open;
  int is_inside;
  // Whether the line's time is counted: an event has its text twice.
  int is_counted;
  int64_t number;
};

static int fail(char *error, size_t size, const char *what) {
  snprintf(error, size, "%s: %s", what, strerror(errno));
  return -1;
}

static int begin(struct stream *stream, int port, const char *request, char *error, size_t error_size) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  stream->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stream->descriptor < 0) return fail(error, error_size, "socket");
  if (connect(stream->descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
    return fail(error, error_size, "connect");
  }
  size_t length = strlen(request);
  if (write(stream->descriptor, request, length) != (ssize_t)length) return fail(error, error_size, "write");
  int flags = fcntl(stream->descriptor, F_GETFL);
  if (fcntl(stream->descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return fail(error, error_size, "fcntl");
  return 0;
}

static void read_times(struct stream *stream, const char *bytes, ssize_t count, bench_board *board) {
  for (ssize_t i = 0; i < count; i++) {
    char c = bytes[i];
    if (c == '\n') {
      stream->is_inside = stream->is_counted = 0;
    } else if (c == '@') {
      if (stream->is_inside && stream->number > 0) {
        if (!stream->is_counted) {
          bench_board_sample(board, bench_now() - stream->number);
          bench_board_count(board);
        }
        stream->is_inside = 0;
        stream->is_counted = 1;
      } else {
        stream->is_inside = 1;
      }
      stream->number = 0;
    } else if (stream->is_inside && c >= '0' && c <= '9') {
      stream->number = stream->number * 10 + (c - '0');
    } else {
      stream->is_inside = 0;
    }
  }
}

int64_t bench_streams(
  int port, const char *const *requests, int64_t count, bench_board *board, char *error, size_t error_size) {
  static char bytes[65536];
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  struct stream *streams = calloc((size_t)count, sizeof *streams);
  int poller = epoll_create1(EPOLL_CLOEXEC);
  if (streams == NULL || poller < 0) return fail(error, error_size, "epoll_create1");
  int64_t begun = 0, open = 0;
  for (;;) {
    // At most a hundred that are not answered yet: the server has other things to do.
    while (begun < count && begun - open < 100) {
      struct stream *stream = &streams[begun];
      if (begin(stream, port, requests[begun], error, error_size) != 0) return -1;
      struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
      if (epoll_ctl(poller, EPOLL_CTL_ADD, stream->descriptor, &event) != 0) return fail(error, error_size, "epoll_ctl");
      begun++;
    }
    struct epoll_event events[256];
    int ready = epoll_wait(poller, events, 256, -1);
    if (ready < 0 && errno != EINTR) return fail(error, error_size, "epoll_wait");
    for (int i = 0; i < ready; i++) {
      struct stream *stream = events[i].data.ptr;
      ssize_t length = read(stream->descriptor, bytes, sizeof bytes);
      if (length < 0 && errno == EAGAIN) continue;
      if (length <= 0) return fail(error, error_size, "a stream ended");
      if (!stream->is_open) {
        if (length < 12 || memcmp(bytes + 9, "200", 3) != 0) {
          snprintf(error, error_size, "a stream was answered: %.*s", (int)(length < 300 ? length : 300), bytes);
          return -1;
        }
        stream->is_open = 1;
        if (++open == count) bench_board_set_ready(board);
      }
      read_times(stream, bytes, length, board);
    }
  }
}

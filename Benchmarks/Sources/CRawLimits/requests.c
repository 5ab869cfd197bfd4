#define _GNU_SOURCE
#include "CRawLimits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// A connection, and how far its answer is.
struct lane {
  int descriptor;
  int64_t request;
  int64_t sent_at;
  size_t length;
  char answer[1 << 17];
};

static int fail(char *error, size_t size, const char *what) {
  snprintf(error, size, "%s: %s", what, strerror(errno));
  return -1;
}

static int open_lane(struct lane *lane, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  lane->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (lane->descriptor < 0) return -1;
  int on = 1;
  setsockopt(lane->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connect(lane->descriptor, (struct sockaddr *)&address, sizeof address);
}

static int send_request(struct lane *lane, int64_t number, const char *request) {
  size_t length = strlen(request);
  lane->request = number;
  lane->length = 0;
  lane->sent_at = bench_now();
  return write(lane->descriptor, request, length) == (ssize_t)length ? 0 : -1;
}

// Whether the head and as many bytes as it announces are there.
static int is_whole(const struct lane *lane) {
  const char *end = memmem(lane->answer, lane->length, "\r\n\r\n", 4);
  if (end == NULL) return 0;
  const char *body = end + 4;
  for (const char *line = lane->answer; line < end;) {
    if (strncasecmp(line, "content-length:", 15) == 0) {
      return lane->length - (size_t)(body - lane->answer) >= (size_t)atoll(line + 15);
    }
    line = memmem(line, (size_t)(body - line), "\r\n", 2);
    if (line == NULL) break;
    line += 2;
  }
  return 1;
}

static int run(
  struct lane *lanes, int connections, int port, const char *const *requests, int64_t count, int status,
  int64_t *nanoseconds, char *error, size_t error_size) {
  int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) return fail(error, error_size, "epoll_create1");
  int64_t next = 0, done = 0;
  for (int i = 0; i < connections && next < count; i++, next++) {
    if (open_lane(&lanes[i], port) != 0) return fail(error, error_size, "connect");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &lanes[i]};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, lanes[i].descriptor, &event) != 0) return fail(error, error_size, "epoll_ctl");
    if (send_request(&lanes[i], next, requests[next]) != 0) return fail(error, error_size, "write");
  }
  while (done < count) {
    struct epoll_event events[64];
    int ready = epoll_wait(poller, events, 64, 60000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(error, error_size, "no answer for a minute");
    for (int i = 0; i < ready; i++) {
      struct lane *lane = events[i].data.ptr;
      // One byte less than there is room, for the zero that ends what is read as a text.
      ssize_t length = read(lane->descriptor, lane->answer + lane->length, sizeof lane->answer - 1 - lane->length);
      if (length <= 0) return fail(error, error_size, "an answer ended early, or is longer than 128 KB");
      lane->length += (size_t)length;
      lane->answer[lane->length] = 0;
      if (!is_whole(lane)) continue;
      nanoseconds[lane->request] = bench_now() - lane->sent_at;
      if (atoi(lane->answer + 9) != status) {
        snprintf(error, error_size, "%.80s was answered: %.300s", requests[lane->request], lane->answer);
        return -1;
      }
      done++;
      if (next < count) {
        if (send_request(lane, next, requests[next]) != 0) return fail(error, error_size, "write");
        next++;
      } else {
        epoll_ctl(poller, EPOLL_CTL_DEL, lane->descriptor, NULL);
      }
    }
  }
  close(poller);
  return 0;
}

int bench_requests(
  int port, int connections, const char *const *requests, int64_t count, int status, int64_t *nanoseconds, char *error,
  size_t error_size) {
  struct lane *lanes = calloc((size_t)connections, sizeof *lanes);
  if (lanes == NULL) return fail(error, error_size, "calloc");
  for (int i = 0; i < connections; i++) lanes[i].descriptor = -1;
  int outcome = run(lanes, connections, port, requests, count, status, nanoseconds, error, error_size);
  for (int i = 0; i < connections; i++) {
    if (lanes[i].descriptor >= 0) close(lanes[i].descriptor);
  }
  free(lanes);
  return outcome;
}

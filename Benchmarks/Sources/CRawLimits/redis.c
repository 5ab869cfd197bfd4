#include "CRawLimits.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static redisContext *open_redis(const char *socket, char *error, size_t size) {
  redisContext *context = redisConnectUnix(socket);
  if (context && !context->err) return context;
  snprintf(error, size, "%s", context ? context->errstr : "no memory");
  if (context) redisFree(context);
  return NULL;
}

static redisReply *next_reply(redisContext *context, char *error, size_t size) {
  redisReply *reply = NULL;
  if (redisGetReply(context, (void **)&reply) != REDIS_OK) {
    snprintf(error, size, "%s", context->errstr);
    return NULL;
  }
  if (reply->type == REDIS_REPLY_ERROR) {
    snprintf(error, size, "%s", reply->str);
    freeReplyObject(reply);
    return NULL;
  }
  return reply;
}

// Writes all that was appended.
static int flush(redisContext *context, char *error, size_t size) {
  int done = 0;
  while (!done) {
    if (redisBufferWrite(context, &done) != REDIS_OK) {
      snprintf(error, size, "%s", context->errstr);
      return -1;
    }
  }
  return 0;
}

int64_t raw_add(
  const char *socket, const char *stream, const void *record, size_t length, int64_t count, double *seconds,
  char *error, size_t error_size) {
  redisContext *context = open_redis(socket, error, error_size);
  if (!context) return -1;
  // Formatted once: what remains is the connection and the server.
  char *command = NULL;
  const char *words[] = {"XADD", stream, "*", "j", record};
  const size_t lengths[] = {4, strlen(stream), 1, 1, length};
  long long size = redisFormatCommandArgv(&command, 5, words, lengths);
  const int64_t batch = 1000;
  int64_t sent = 0, answered = 0, result = -1;
  double start = monotonic();
  while (answered < count) {
    while (sent < count && sent - answered < 2 * batch) {
      for (int64_t end = sent + batch < count ? sent + batch : count; sent < end; sent++) {
        redisAppendFormattedCommand(context, command, size);
      }
      if (flush(context, error, error_size)) goto out;
    }
    for (int64_t end = answered + batch < sent ? answered + batch : sent; answered < end; answered++) {
      redisReply *reply = next_reply(context, error, error_size);
      if (!reply) goto out;
      freeReplyObject(reply);
    }
  }
  *seconds = monotonic() - start;
  result = answered;
out:
  redisFreeCommand(command);
  redisFree(context);
  return result;
}

// Appends `XACK stream workers id…` or `XDEL stream id…`.
static void append_ids(redisContext *context, const char *name, const char *stream, const redisReply *entries) {
  const char *words[103];
  size_t lengths[103];
  int count = 0;
#define ADD(word, length) (words[count] = (word), lengths[count++] = (length))
  ADD(name, 4);
  ADD(stream, strlen(stream));
  if (!strcmp(name, "XACK")) ADD("workers", 7);
  for (size_t index = 0; index < entries->elements; index++) {
    const redisReply *id = entries->element[index]->element[0];
    ADD(id->str, id->len);
  }
#undef ADD
  redisAppendCommandArgv(context, count, words, lengths);
}

int64_t raw_drain(
  const char *socket, const char *stream, int64_t count, double *seconds, char *error, size_t error_size) {
  redisContext *context = open_redis(socket, error, error_size);
  if (!context) return -1;
  int64_t drained = 0, result = -1;
  char *read = NULL;
  long long size = redisFormatCommand(
    &read, "XREADGROUP GROUP workers raw COUNT 100 STREAMS %s >", stream);
  redisReply *made = redisCommand(context, "XGROUP CREATE %s workers 0", stream);
  if (made) freeReplyObject(made);
  double start = monotonic();
  redisAppendFormattedCommand(context, read, size);
  while (drained < count) {
    redisReply *batch = next_reply(context, error, error_size);
    if (!batch) goto out;
    if (batch->type != REDIS_REPLY_ARRAY) {
      freeReplyObject(batch);
      break;
    }
    const redisReply *entries = batch->element[0]->element[1];
    drained += entries->elements;
    append_ids(context, "XACK", stream, entries);
    append_ids(context, "XDEL", stream, entries);
    freeReplyObject(batch);
    if (drained < count) redisAppendFormattedCommand(context, read, size);
    for (int index = 0; index < 2; index++) {
      redisReply *reply = next_reply(context, error, error_size);
      if (!reply) goto out;
      freeReplyObject(reply);
    }
  }
  *seconds = monotonic() - start;
  result = drained;
out:
  redisFreeCommand(read);
  redisFree(context);
  return result;
}

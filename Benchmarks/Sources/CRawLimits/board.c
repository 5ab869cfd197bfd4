#include "CRawLimits.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most_samples = 200000 };

struct bench_board {
  atomic_llong counted;
  atomic_llong sampled;
  atomic_int ready;
  int64_t samples[most_samples];
};

bench_board *bench_board_open(const char *path) {
  int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return NULL;
  void *memory = MAP_FAILED;
  if (ftruncate(descriptor, sizeof(bench_board)) == 0) {
    memory = mmap(NULL, sizeof(bench_board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  return memory == MAP_FAILED ? NULL : memory;
}

void bench_board_reset(bench_board *board) {
  atomic_store(&board->counted, 0);
  atomic_store(&board->sampled, 0);
  atomic_store(&board->ready, 0);
}

void bench_board_count(bench_board *board) { atomic_fetch_add_explicit(&board->counted, 1, memory_order_relaxed); }

int64_t bench_board_counted(const bench_board *board) { return atomic_load(&board->counted); }

void bench_board_sample(bench_board *board, int64_t value) {
  long long index = atomic_fetch_add(&board->sampled, 1);
  if (index < most_samples) board->samples[index] = value;
}

int64_t bench_board_sample_count(const bench_board *board) {
  long long count = atomic_load(&board->sampled);
  return count < most_samples ? count : most_samples;
}

int64_t bench_board_sample_at(const bench_board *board, int64_t index) { return board->samples[index]; }

void bench_board_set_ready(bench_board *board) { atomic_store(&board->ready, 1); }

int bench_board_is_ready(const bench_board *board) { return atomic_load(&board->ready); }

int64_t bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

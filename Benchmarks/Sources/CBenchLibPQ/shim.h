#ifndef FANMILL_BENCH_LIBPQ_H
#define FANMILL_BENCH_LIBPQ_H

#include <libpq-fe.h>

#endif
